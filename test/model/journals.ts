// THE JOURNALS OF ONE EXPLORATION, each kept once: what the real fold makes of it, what its raw rows say, and a row to add.
// Two journals are the same here when no later decision and no rule can tell them apart.

import type { Entry, Row } from "../../src/core/entry.js";
import { foldRows } from "../../src/core/fold.js";
import { type JournalFacts, type LineFacts, noFacts, type StepFacts } from "../../src/core/journal-facts.js";
import type { RetryPolicy } from "../../src/core/policies.js";
import { checkRow, type Violation } from "../../src/core/rules.js";
import {
  type AttemptsState,
  initialState,
  type RunState,
  type SignalLine,
  type StepState,
  type UnderWay,
} from "../../src/core/state.js";
import { type Explored, never, now, policyFor } from "./shapes.js";

export interface Journal {
  readonly id: number;
  /** By the real fold. */
  readonly state: RunState;
  /** By the bookkeeping of the rules. */
  readonly facts: JournalFacts;
  /** What was computed from this journal before. */
  readonly known: Map<string, unknown>;
  readonly appended: Map<readonly Entry[], Appended>;
}

export interface Appended {
  readonly journal: Journal;
  readonly row: Row;
  readonly violations: readonly Violation[];
}

export class Journals {
  readonly empty: Journal;
  readonly #explored: Explored;
  readonly #merged: boolean;
  readonly #byText = new Map<string, Journal>();

  /** `merged: false` keeps each journal apart, with the very rows that led to it. */
  constructor(explored: Explored, { merged = true } = {}) {
    this.#explored = explored;
    this.#merged = merged;
    this.empty = this.#kept(initialState(explored.shape, now), noFacts(explored.shape));
  }

  get size(): number {
    return this.#byText.size;
  }

  /** The journal with one more row, at the next number. */
  append(journal: Journal, entries: readonly Entry[], deadline: boolean): Appended {
    const before = journal.appended.get(entries);
    if (before !== undefined) return before;
    const { shape, judged } = this.#explored;
    const row: Row = { number: journal.facts.last + 1, at: now, entries, nonce: "" };
    const { facts, violations } = checkRow(shape, journal.facts, row, {
      policies: deadline ? judged.after : judged.before,
    });
    const appended = { journal: this.#kept(foldRows(shape, journal.state, [row]), facts), row, violations };
    journal.appended.set(entries, appended);
    return appended;
  }

  /** The same journal, read `ms` later: the clock stands still, and the instants in it move. */
  later(journal: Journal, ms: number): Journal {
    if (ms === 0) return journal;
    const { state, facts } = journal;
    return remembered(journal, `later ${ms}`, () => this.#kept(earlier(state, ms, this.#explored), sooner(facts, ms)));
  }

  #kept(read: RunState, told: JournalFacts): Journal {
    const settled = renumbered(earlier(read, 0, this.#explored));
    const facts = relined(sooner(told, 0));
    const text = this.#merged ? essence(this.#explored, settled, facts) : `${this.#byText.size}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const journal = { id: this.#byText.size, state: settled, facts, known: new Map(), appended: new Map() };
    this.#byText.set(text, journal);
    return journal;
  }
}

/** Computes something about a journal once. */
export function remembered<T>(journal: Journal, what: string, compute: () => T): T {
  if (!journal.known.has(what)) journal.known.set(what, compute());
  return journal.known.get(what) as T;
}

/**
 * A text that two journals share when no later decision and no rule can tell them apart: without names and errors, with
 * counters cut where no budget of the model reaches, and without what was settled. A field that is not named here counts.
 */
function essence(run: Explored, state: RunState, facts: JournalFacts): string {
  const { last: _last, startAt: _startAt, parked: _parked, begun: _begun, steps, ...rest } = state;
  const { last: _number, steps: stepsFacts, ...restFacts } = facts;
  const ends = facts.finished;
  const over = ends !== undefined && ends !== "compensation_failed" && ends !== "forward_incomplete";
  const back = state.rollback !== undefined;
  const elements = run.shape.steps.filter(({ element }) => element !== undefined);
  const told = [...elements, ...run.units].map(({ name, kind }) => {
    const step = steps[name];
    const seen = stepsFacts[name];
    if (step === undefined || seen === undefined) return 0;
    const { forward, undo, asks, final, unsettledSince, ...stands } = step;
    const { attempts, compensations, asks: seenAsks, ...seenStands } = seen;
    const { retry, compensationRetry, maxAsks } = policyFor(run.policies.before, name);
    const changes = run.kinds.has("deploy");
    const tries = !over && !back && (step.done === undefined || !seen.completed);
    const undoes = !over && (!step.undone || !seen.compensated);
    const asked = (maxAsks > 0 || changes) && (step.done === undefined || !seen.completed) && undoes;
    return {
      stands: { ...stands, failed: step.failed ?? 0, undoFailed: step.undoFailed !== undefined },
      seenStands,
      ...(tries && {
        forward: triedText(forward, changes ? undefined : retry, kind !== "compensatable"),
        attempts: cut(attempts),
        final,
      }),
      ...(undoes && {
        undo: triedText(undo, changes ? undefined : compensationRetry, false),
        compensations: cut(compensations),
      }),
      ...(asked && { asks: [cut(asks), cut(seenAsks), forward.retryAt] }),
      ...(tries || undoes ? { unsettledSince } : {}),
    };
  });
  return JSON.stringify([rest, restFacts, told], nameless);
}

function triedText(tried: AttemptsState, retry: RetryPolicy | undefined, failuresCount: boolean): unknown[] {
  const { attempts, crashes, interrupted, failures, retryAt, lastError: _error, ...rest } = tried;
  return [
    cut(attempts),
    retry === undefined || !Number.isFinite(retry.maxAttempts) ? cut(crashes) : 0,
    (retry === undefined || retry.maxAttempts === 1) && interrupted,
    failuresCount && failures > 0,
    retryAt,
    rest,
  ];
}

function cut(count: number): number {
  return Math.min(count, 3);
}

function nameless(key: string, value: unknown): unknown {
  switch (key) {
    case "at":
    case "token":
    case "worker":
    case "by":
    case "attempt":
      return undefined;
    case "driver":
    case "error":
    case "output":
    case "cancelRequestedAt":
    case "cancelRefusedAt":
      return value !== undefined;
    default:
      return value;
  }
}

/** Every instant `ms` earlier; one that lies behind, and makes no difference any more, is 0. */
function earlier(state: RunState, ms: number, { policies }: Explored): RunState {
  const moved = (instant: number): number => movedBy(instant, ms);
  const tried = (attempts: AttemptsState): AttemptsState => ({ ...attempts, retryAt: moved(attempts.retryAt) });
  const since = (instant: number, step: string): number => {
    const { attemptMs } = policyFor(policies.before, step);
    return instant + attemptMs <= now + ms ? 0 : instant - ms;
  };
  const begun = (body: UnderWay): UnderWay => ({ ...body, since: since(body.since, body.step) });
  const steps = Object.entries(state.steps).map(([name, step]): [string, StepState] => [
    name,
    {
      ...withoutSince(step),
      forward: tried(step.forward),
      undo: tried(step.undo),
      ...unsettled(since(step.unsettledSince ?? 0, name)),
      ...(step.waitUntil === undefined ? {} : { waitUntil: moved(step.waitUntil) }),
    },
  ]);
  return {
    ...state,
    dueAt: moved(state.dueAt),
    steps: Object.fromEntries(steps),
    underWay: state.underWay.map(begun),
  };
}

/** One that nobody will live to see stays where it is. */
function movedBy(instant: number, ms: number): number {
  if (instant >= never) return instant;
  return instant <= now + ms ? 0 : instant - ms;
}

/** The instants that the rules know of, `ms` earlier. */
function sooner(facts: JournalFacts, ms: number): JournalFacts {
  const steps = Object.entries(facts.steps).map(([name, step]): [string, StepFacts] => [
    name,
    step.until === undefined ? step : { ...step, until: movedBy(step.until, ms) },
  ]);
  return { ...facts, steps: Object.fromEntries(steps) };
}

/** Signals in line are told apart by their places alone. */
function renumbered(state: RunState): RunState {
  const signals = Object.entries(state.signals).map(([name, line]): [string, SignalLine] => [
    name,
    { ...line, pending: line.pending.map((signal, place) => ({ ...signal, received: placeInLine(place) })) },
  ]);
  return { ...state, signals: Object.fromEntries(signals) };
}

function relined(facts: JournalFacts): JournalFacts {
  const lines = Object.entries(facts.lines).map(([name, line]): [string, LineFacts] => [
    name,
    { ...line, waiting: line.waiting.map((_row, place) => placeInLine(place)) },
  ]);
  return { ...facts, lines: Object.fromEntries(lines) };
}

function placeInLine(place: number): number {
  return 1_000_001 + place;
}

function withoutSince({ unsettledSince: _since, ...step }: StepState): Omit<StepState, "unsettledSince"> {
  return step;
}

function unsettled(since: number): { readonly unsettledSince?: number } {
  return since === 0 ? {} : { unsettledSince: since };
}
