// A RUN TOLD STEP BY STEP: the core decides, the test says what came of it. Each row is held against the rules at once.

import { expect } from "vitest";
import type { Action, Attempted } from "../../../src/core/action.js";
import { decide } from "../../../src/core/decide.js";
import type { Entry, Row } from "../../../src/core/entry.js";
import { foldRows } from "../../../src/core/fold.js";
import { type ChildLook, defaultRetry, type Policies, type StepPolicy } from "../../../src/core/policies.js";
import { type Projection, projectionOf } from "../../../src/core/projection.js";
import { type Outcome, type RecordContext, record, settle, type Threw } from "../../../src/core/record.js";
import type { Computed } from "../../../src/core/record-computed.js";
import { checkJournal } from "../../../src/core/rules.js";
import { decideSignal, type SignalVerdict } from "../../../src/core/signalling.js";
import { initialState, type RunState } from "../../../src/core/state.js";
import { takeOver, takeUp } from "../../../src/core/take-up.js";
import {
  type CancelVerdict,
  cancelVerdict,
  decideCancel,
  decideResolve,
  decideRetry,
  type OperatorDecision,
  type Resolution,
} from "../../../src/core/verbs.js";
import type { Shape, StepShape } from "../../../src/definition/shape.js";
import type { AbortReason } from "../../../src/errors/step-errors.js";

export interface StoryOptions {
  /** By the step's name: what differs from the defaults, with one attempt's limit of 60 s and no `reconcile`. */
  readonly policies?: Readonly<Record<string, Partial<StepPolicy>>>;
  readonly maxCrashes?: number;
  readonly deadlineAt?: number;
}

const error = { name: "Error", message: "no" };

/** What a body may come to. */
export const threw = {
  /** It did not happen, and trying again does not help. */
  definitely: { kind: "threw", error, retryable: false, happened: "no", counted: true },
  /** It did not happen, and may another time. */
  notNow: { kind: "threw", error, retryable: true, happened: "no", counted: true },
  /** It may have happened: a timeout, a lost connection. */
  maybe: { kind: "threw", error, retryable: true, happened: "maybe", counted: true },
  /** It may have happened, and trying again does not help. */
  maybeForGood: { kind: "threw", error, retryable: false, happened: "maybe", counted: true },
  neverCalled: { kind: "threw", error, retryable: true, happened: "no", counted: false },
} as const satisfies Record<string, Threw>;

export function aborted(reason: AbortReason, outcome: Threw = threw.maybe): Threw {
  return { ...outcome, aborted: reason };
}

export function returned(text = "output"): Outcome {
  return { kind: "returned", output: { format: "text", text } };
}

export const cannotTell: Outcome = { kind: "answered", answer: "cannot_tell" };
export const notHappened: Outcome = { kind: "answered", answer: "not_happened" };

/** What one of an element's pure functions may give. */
export const computed = {
  holds: { kind: "computed", what: "when", holds: true },
  skipped: { kind: "computed", what: "when", holds: false },
  for: (ms: number): Computed => ({ kind: "computed", what: "for", ms }),
  over: (count: number, concurrency = 1): Computed => ({
    kind: "computed",
    what: "over",
    items: { format: "text", text: `${count} items` },
    count,
    concurrency,
  }),
  child: (runId = "child"): Computed => ({
    kind: "computed",
    what: "input",
    runId,
    input: { format: "text", text: "input" },
  }),
  payload: (text = "payload"): Computed => ({ kind: "computed", what: "payload", payload: { format: "text", text } }),
} as const;

const elements = { z: "sleep", w: "signal", e: "each", k: "child" } as const;

/**
 * Steps by their marks, named by them: `c…` compensatable, `P` the pivot, `r…` retriable; a trailing `t` makes one
 * transactional, a trailing `n` needs no undoing, a trailing `i` runs only if its condition holds. `z…` sleeps, `w…` waits
 * for a signal of its name up to a colon (`w:1`, `w:2` wait for one signal), `e…` lists items, `k…` runs a child. What a bar
 * joins runs side by side: `c1|c2`.
 */
export function shapeOf(names: string): Shape {
  const groups = names.split(" ").map((group) => group.split("|"));
  const pivotAt = groups.findIndex(([name]) => name!.startsWith("P"));
  const steps = groups.flatMap((group, index) =>
    group.map((name): StepShape => {
      const kind = index === pivotAt ? "pivot" : pivotAt >= 0 && index > pivotAt ? "retriable" : "compensatable";
      const element = elements[name[0] as keyof typeof elements];
      return {
        name,
        kind,
        undone: kind === "compensatable" && !name.endsWith("n") && element !== "sleep" && element !== "signal",
        transactional: name.endsWith("t"),
        ...(element === undefined ? {} : { element }),
        ...(element === "signal" ? { signal: name.split(":")[0]! } : {}),
        ...(group.length > 1 ? { parallel: index } : {}),
        ...(name.endsWith("i") ? { conditional: true } : {}),
      };
    }),
  );
  return { steps };
}

export class Story {
  readonly shape: Shape;
  readonly policies: Policies;
  readonly rows: Row[] = [];
  /** What was begun, in order: "do c1", "undo c1", "ask P", "compute for z1", "look k1". */
  readonly begun: string[] = [];
  /** What its owner has in hand. */
  hands: Attempted[] = [];
  /** What its owner has read of the run's children. */
  children: Record<string, ChildLook> = {};
  givenUp = false;
  now = 1_000_000;
  stopping = false;

  constructor(
    names: string,
    { policies = {}, maxCrashes = 5, deadlineAt = Number.POSITIVE_INFINITY }: StoryOptions = {},
  ) {
    this.shape = shapeOf(names);
    const steps = this.shape.steps.flatMap(({ name, kind, element }) =>
      (element === "each" ? [name, `${name}/`] : [name]).map((unit): [string, StepPolicy] => [
        unit,
        {
          retry: defaultRetry[kind],
          compensationRetry: defaultRetry.compensation,
          maxAsks: 0,
          attemptMs: 60_000,
          ...policies[unit],
        },
      ]),
    );
    this.policies = { steps: Object.fromEntries(steps), maxCrashes, deadlineAt };
  }

  get state(): RunState {
    return foldRows(this.shape, initialState(this.shape, 0), this.rows);
  }

  get row(): Projection {
    return projectionOf(this.shape, this.state);
  }

  get status(): string {
    return this.row.status;
  }

  /** The kinds of the last row's entries. */
  get lastKinds(): string[] {
    return this.rows.at(-1)!.entries.map(({ kind }) => kind);
  }

  get lastEntry(): Entry {
    return this.rows.at(-1)!.entries.at(-1)!;
  }

  get context(): RecordContext {
    const { now, policies, stopping, givenUp, children } = this;
    const busy = this.hands.map(({ step }) => step);
    return { now, policies, random: 0, worker: "w1", stopping, givenUp, busy, children };
  }

  append(entries: readonly Entry[]): this {
    this.rows.push({ number: this.rows.length + 1, at: this.now, entries, nonce: "" });
    expect(checkJournal(this.shape, this.rows)).toEqual([]);
    return this;
  }

  /** A worker claims it, or takes it from an owner that is gone. */
  takenUp(crash = true): this {
    const { state } = this;
    this.hands = [];
    this.children = {};
    this.givenUp = false;
    const taker = { worker: "w1", token: `t${this.rows.length}` };
    return this.append(
      state.owner === undefined
        ? takeUp(taker)
        : takeOver(this.shape, state, { ...taker, crash }, { now: this.now, random: 0 }),
    );
  }

  /** What its owner does next, once it has written what had to be written first. */
  next(): Action {
    const entries = settle(this.shape, this.state, [], this.context);
    if (entries.length > 0) this.append(entries);
    return decide(this.shape, this.state, this.context);
  }

  /** Waits, and has the run claimed again, until there is something to do. */
  awaited(): Action {
    for (;;) {
      const { owner, finished, dueAt } = this.state;
      if (owner === undefined && finished === undefined) {
        this.now = Math.max(this.now, dueAt);
        this.takenUp();
      }
      const action = this.next();
      if (action.kind === "wait" && this.hands.length > 0) return action;
      if (action.kind === "wait" && this.state.owner !== undefined) this.now = action.until;
      else if (action.kind !== "wait") return action;
    }
  }

  /** Begins what is next, and leaves it under way. */
  begins(): Attempted {
    const action = this.awaited();
    if (action.kind !== "run" && action.kind !== "reconcile" && action.kind !== "compute")
      throw new Error(`nothing to begin, but ${action.kind}`);
    this.begun.push(`${verbOf(action)} ${action.step}`);
    this.hands.push(action);
    return action;
  }

  /** Begins all that can be begun beside each other; tells what is in hand then. */
  beginsAll(): string[] {
    for (let action = this.next(); action.kind === "run" || action.kind === "compute"; action = this.next())
      this.begins();
    return this.hands.map((action) => `${verbOf(action)} ${action.step}`);
  }

  /** Of what is in hand, the step's comes to `outcome`. */
  ends(step: string, outcome: Outcome = returned()): boolean {
    return this.offers(this.hands.find((action) => action.step === step)!, outcome);
  }

  /** Looks at the child that it has to look at, which has ended so, or is live. */
  looks(ended?: ChildLook["ended"]): this {
    const action = this.awaited();
    if (action.kind !== "look") throw new Error(`nothing to look at, but ${action.kind}`);
    this.begun.push(`look ${action.step}`);
    this.children = {
      ...this.children,
      [action.step]: { direction: action.direction, ...(ended === undefined ? {} : { ended }) },
    };
    this.next();
    return this;
  }

  /** Somebody sends a signal. */
  sent(signal: string, text = "payload", dedupeKey?: string): SignalVerdict {
    const key = dedupeKey === undefined ? {} : { dedupeKey };
    const decision = decideSignal(this.shape, this.state, { signal, payload: { format: "text", text }, ...key });
    if (decision.entries.length > 0) this.append(decision.entries);
    return decision.answer;
  }

  /** The next bodies come to these ends, one after the other. */
  comesTo(...outcomes: readonly Outcome[]): this {
    for (const outcome of outcomes) this.offers(this.begins(), outcome);
    return this;
  }

  /** `times` bodies return. */
  returns(times = 1): this {
    return this.comesTo(...Array.from({ length: times }, () => returned()));
  }

  /** Offers what came of `action`; tells whether there was anything to write. */
  offers(action: Attempted, outcome: Outcome): boolean {
    this.hands = this.hands.filter((other) => other !== action);
    const entries = record(this.shape, this.state, action, outcome, this.context);
    const shutDown = outcome.kind === "threw" && outcome.aborted === "shutdown" && outcome.happened === "maybe";
    if (shutDown && action.kind === "run" && this.hands.length > 0) this.givenUp = true;
    if (entries !== undefined && entries.length > 0) this.append(entries);
    return entries !== undefined && entries.length > 0;
  }

  /** The next body takes its process down, and another worker takes the run over. */
  crashes(times = 1): this {
    for (let time = 0; time < times; time += 1) {
      this.begins();
      this.takenUp();
    }
    return this;
  }

  /** Everything that is tried from here on succeeds at once. */
  goesWell(): this {
    while (this.awaited().kind !== "ended") this.returns();
    return this;
  }

  /** What is in hand returns, and what can be begun beside it is, until the run has ended. */
  goesBeside(): this {
    while (this.state.finished === undefined) {
      this.beginsAll();
      if (this.hands.length > 0) this.offers(this.hands[0]!, returned());
      else this.awaited();
    }
    return this;
  }

  cancelled(by = "ana", reason?: string): CancelVerdict {
    const operator = { by, ...(reason === undefined ? {} : { reason }) };
    const decision = decideCancel(this.shape, this.state, operator);
    if (decision.entries.length > 0) this.append(decision.entries);
    return cancelVerdict(this.shape, this.state, decision);
  }

  retried(): string | undefined {
    return this.#decided(decideRetry(this.shape, this.state, "ana", this.now));
  }

  resolved(step: string, as: Resolution["as"]): string | undefined {
    const output = as === "done" ? { output: { format: "text", text: "by hand" } } : {};
    return this.#decided(decideResolve(this.shape, this.state, { step, as, by: "ana", ...output }));
  }

  /** Why it was refused; undefined when it was written. */
  #decided(decision: OperatorDecision): string | undefined {
    if ("refused" in decision) return decision.refused;
    this.append(decision.entries);
    return undefined;
  }
}

function verbOf(action: Attempted): string {
  if (action.kind === "compute") return `compute ${action.what} of`;
  if (action.kind === "reconcile") return "ask";
  return action.direction === "forward" ? "do" : "undo";
}

/** A run that a worker has claimed. */
export function story(names: string, options: StoryOptions = {}): Story {
  return new Story(names, options).takenUp();
}
