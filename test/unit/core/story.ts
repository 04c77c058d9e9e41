// A RUN TOLD STEP BY STEP: the core decides, the test says what came of it. Each row is held against the rules at once.

import { expect } from "vitest";
import type { Action } from "../../../src/core/action.js";
import { decide } from "../../../src/core/decide.js";
import type { Entry, Row } from "../../../src/core/entry.js";
import { foldRows } from "../../../src/core/fold.js";
import { defaultRetry, type Policies, type StepPolicy } from "../../../src/core/policies.js";
import { type Projection, projectionOf } from "../../../src/core/projection.js";
import { type Outcome, type RecordContext, record, settle, type Threw } from "../../../src/core/record.js";
import { checkJournal } from "../../../src/core/rules.js";
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

/**
 * Steps by their marks, named by them: `c…` compensatable, `P` the pivot, `r…` retriable; a trailing `t` makes one
 * transactional, a trailing `n` needs no undoing.
 */
export function shapeOf(names: string): Shape {
  const marks = names.split(" ");
  const pivotAt = marks.findIndex((name) => name.startsWith("P"));
  return {
    steps: marks.map((name, index): StepShape => {
      const kind = index === pivotAt ? "pivot" : pivotAt >= 0 && index > pivotAt ? "retriable" : "compensatable";
      return {
        name,
        kind,
        undone: kind === "compensatable" && !name.endsWith("n"),
        transactional: name.endsWith("t"),
      };
    }),
  };
}

export class Story {
  readonly shape: Shape;
  readonly policies: Policies;
  readonly rows: Row[] = [];
  /** The bodies and asks that were begun, in order: "do c1", "undo c1", "ask P". */
  readonly begun: string[] = [];
  now = 1_000_000;
  stopping = false;

  constructor(
    names: string,
    { policies = {}, maxCrashes = 5, deadlineAt = Number.POSITIVE_INFINITY }: StoryOptions = {},
  ) {
    this.shape = shapeOf(names);
    const steps = this.shape.steps.map(({ name, kind }): [string, StepPolicy] => [
      name,
      {
        retry: defaultRetry[kind],
        compensationRetry: defaultRetry.compensation,
        maxAsks: 0,
        attemptMs: 60_000,
        ...policies[name],
      },
    ]);
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
    return { now: this.now, policies: this.policies, random: 0, worker: "w1", stopping: this.stopping };
  }

  append(entries: readonly Entry[]): this {
    this.rows.push({ number: this.rows.length + 1, at: this.now, entries, nonce: "" });
    expect(checkJournal(this.shape, this.rows)).toEqual([]);
    return this;
  }

  /** A worker claims it, or takes it from an owner that is gone. */
  takenUp(crash = true): this {
    const { state } = this;
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
      if (action.kind === "wait" && this.state.owner !== undefined) this.now = action.until;
      else if (action.kind !== "wait") return action;
    }
  }

  /** Begins what is next, and leaves it under way. */
  begins(): Extract<Action, { kind: "run" | "reconcile" }> {
    const action = this.awaited();
    if (action.kind !== "run" && action.kind !== "reconcile") throw new Error(`nothing to begin, but ${action.kind}`);
    const verb = action.kind === "reconcile" ? "ask" : action.direction === "forward" ? "do" : "undo";
    this.begun.push(`${verb} ${action.step}`);
    return action;
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
  offers(action: Extract<Action, { kind: "run" | "reconcile" }>, outcome: Outcome): boolean {
    const entries = record(this.shape, this.state, action, outcome, this.context);
    if (entries !== undefined) this.append(entries);
    return entries !== undefined;
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

/** A run that a worker has claimed. */
export function story(names: string, options: StoryOptions = {}): Story {
  return new Story(names, options).takenUp();
}
