// A FUNCTION IN ITS OWNER'S HAND: begun from the top, given what the journal records in the order in which it came about, and
// told of to `decide` once it rests (design 2.3). What it does with that is the function's.

import type { StoredValue } from "../core/entry.js";
import type { DecideContext, Policies, ReplayEnd, Replayed } from "../core/policies.js";
import type { RunState } from "../core/state.js";
import { isSettled, unitOf } from "../core/units.js";
import type { CallOutcome, FunctionCall, FunctionEnd, FunctionReplay, SagaDefinition } from "../definition/saga.js";
import { recordError, reviveError } from "../errors/error-record.js";
import { UsageError } from "../errors/usage-errors.js";
import { withFields } from "../platform/log.js";
import { turn } from "../platform/turn.js";
import type { Driving, TakenRun } from "./owned-run.js";
import { stepPolicy } from "./policies-of.js";
import { childRunId } from "./run-id.js";
import { checkValue } from "./validate.js";

export interface ReplayParts {
  readonly driving: Driving;
  readonly run: TakenRun;
  readonly begin: NonNullable<SagaDefinition["function"]>;
  /** The function asked for something, or ended, of itself. */
  readonly moved: () => void;
}

/** How long a function may wait for what is none of its calls before the log says so. */
const longOutsideMs = 10_000;

interface List {
  readonly saga: SagaDefinition;
  readonly policies: Policies;
  readonly undoable: ReadonlySet<string>;
}

export class Replay {
  readonly #parts: ReplayParts;
  #function: FunctionReplay | undefined;
  /** The run turned back when it was begun: it is only to tell how its steps are undone. */
  #undoing = false;
  #goingOn = false;
  /** How often the function asked, or ended. */
  #moves = 0;
  #refused = false;
  /** It was given all that is recorded of what it asked for, at least once. */
  #through = false;
  #listed: (List & { readonly of: readonly FunctionCall[]; readonly count: number }) | undefined;
  #end: { readonly of: FunctionEnd; readonly told: ReplayEnd } | undefined;

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  /** The saga, as if what the function has asked for so far were its list. */
  get saga(): SagaDefinition {
    return this.#list().saga;
  }

  get #calls(): readonly FunctionCall[] {
    return this.#function?.calls ?? [];
  }

  /** What follows from the calls, made anew only when there are more. */
  #list(): List {
    const calls = this.#calls;
    if (this.#listed?.of !== calls || this.#listed.count !== calls.length)
      this.#listed = { of: calls, count: calls.length, ...listOf(calls, this.#parts) };
    return this.#listed;
  }

  /** What `decide` has to know. While the function is just going on, nothing can be said of where it stands. */
  told(): Pick<DecideContext, "policies" | "replay"> {
    const replay = this.#goingOn || this.#function === undefined ? undefined : this.#replayed(this.#function);
    return { policies: this.#list().policies, ...(replay === undefined ? {} : { replay }) };
  }

  #replayed({ waiting, unwanted, end }: FunctionReplay): Replayed {
    return {
      asked: waiting.map(({ shape }) => shape),
      unwanted,
      undoable: this.#list().undoable,
      ...(end === undefined ? {} : { end: this.#told(end) }),
      cutShort: this.#refused && !this.#undoing,
    };
  }

  #told(of: FunctionEnd): ReplayEnd {
    if (this.#end?.of !== of) this.#end = { of, told: this.#endOf(of) };
    return this.#end.told;
  }

  #endOf(end: FunctionEnd): ReplayEnd {
    const threw = (error: unknown) => ({ kind: "threw" as const, error: recordError(error) });
    if (end.kind === "threw") return { ...threw(end.error), ...(end.step === undefined ? {} : { step: end.step }) };
    try {
      return { kind: "returned", output: this.#parts.driving.performTools.encode(end.value) };
    } catch (error) {
      return threw(error);
    }
  }

  /** Goes on until it rests; false where there was nothing to go on with. */
  async goOn(state: RunState): Promise<boolean> {
    this.#goingOn = true;
    const before = this.#moves;
    try {
      const undoing = state.rollback !== undefined;
      // What it could not be given, going forward, does not keep it from saying how the rest is undone.
      const begun = this.#function === undefined || (undoing && !this.#undoing);
      if (begun) await this.#begin(undoing);
      const given = await this.#giveAll(state);
      this.#through = true;
      // It may just have been given what is none of its calls.
      return begun || given || this.#moves !== before;
    } finally {
      this.#goingOn = false;
    }
  }

  /** Until it is called off: what it waits for is none of its calls, and nobody else will say so. */
  warnWhenLong(): () => void {
    const { driving, run } = this.#parts;
    const { runId } = run.header;
    return driving.clock.after(longOutsideMs, () =>
      driving.logger.warn(
        { runId },
        "a function waits for something that is no call of `d`; it keeps its worker's slot",
      ),
    );
  }

  async #begin(undoing: boolean): Promise<void> {
    this.#function?.suspend();
    this.#undoing = undoing;
    this.#refused = false;
    this.#function = this.#begun();
    await turn();
  }

  #begun(): FunctionReplay {
    const { driving, run, begin, moved } = this.#parts;
    const { header } = run;
    const { journal, logger, performTools, children } = driving;
    return begin(performTools.decode(header.input), {
      runId: header.runId,
      isChild: header.parent !== undefined,
      log: withFields(logger, { runId: header.runId }),
      now: () => journal.now(),
      start: (saga, input, call, id) => children.launch(header, saga, input, id ?? childRunId(header.runId, call, 0)),
      moved: () => {
        this.#moves += 1;
        if (!this.#goingOn) moved();
      },
    });
  }

  /** One after the other, each followed by all that the function makes of it: it is the same order each time. */
  async #giveAll(state: RunState): Promise<boolean> {
    let given = false;
    for (;;) {
      const call = this.#next(state);
      if (call === undefined) return given;
      given = true;
      await this.#give(call, state);
      await turn();
    }
  }

  #next(state: RunState): FunctionCall | undefined {
    const { waiting } = this.#function!;
    const changed = this.#undoing ? undefined : waiting.find((call) => isChanged(call, state));
    if (changed !== undefined) this.#refuse(changed.step.name, kindChanged(changed.step.name));
    if (this.#function!.end !== undefined) return undefined;
    for (const name of state.settled) {
      const call = waiting.find(({ step }) => step.name === name);
      if (call !== undefined && isSettled(unitOf(this.#parts.run.saga.shape, state, name), state)) return call;
    }
    return undefined;
  }

  async #give(call: FunctionCall, state: RunState): Promise<void> {
    const { name } = call.step;
    const { done, forward } = state.steps[name]!;
    if (done === undefined)
      return this.#function!.give(name, { kind: "failed", error: reviveError(forward.lastError!) });
    try {
      const value = await this.#valueOf(call, done.output);
      this.#function!.give(name, value);
    } catch (error) {
      this.#refuse(name, error);
    }
  }

  /** A value is read as it was recorded; the schema of today has to accept it, unless it is only to be undone. */
  async #valueOf({ step }: FunctionCall, output: StoredValue | undefined): Promise<CallOutcome> {
    const value = output && this.#parts.driving.performTools.decode(output);
    const schema = step.wait === undefined ? step.output : step.wait.payload;
    const faults = schema === undefined || output === undefined || this.#undoing ? [] : await checkValue(schema, value);
    if (faults.length > 0)
      throw new UsageError(
        "function.changed",
        `what step "${step.name}" gave no longer fits its schema: ${faults.map(({ at, fault }) => `${at}: ${fault}`).join("; ")}`,
      );
    if (step.wait === undefined) return { kind: "done", value };
    return { kind: "done", value: output === undefined ? { received: false } : { received: true, payload: value } };
  }

  #refuse(call: string, error: unknown): void {
    this.#refused = true;
    this.#function!.refuse(error, call);
  }

  /** Nobody drives the run any more. */
  suspend(state: RunState): void {
    if (this.#function === undefined) return;
    const { driving, run } = this.#parts;
    const asked = new Set(this.#calls.map(({ step }) => step.name));
    const unasked = state.declared.map(({ name }) => name).filter((name) => !asked.has(name));
    if (this.#through && !this.#refused && unasked.length > 0)
      driving.logger.warn(
        { runId: run.header.runId, steps: unasked },
        "the function does not ask any more for steps that are recorded; were they renamed?",
      );
    this.#function.suspend();
  }
}

function listOf(calls: readonly FunctionCall[], { driving, run }: ReplayParts): List {
  const policies = calls.map(({ step, shape }) => [step.name, stepPolicy(step, shape.kind, driving.policies)]);
  const undoable = calls.filter(({ step }) => step.compensate !== undefined || step.child !== undefined);
  return {
    saga: { ...run.saga, steps: calls.map(({ step }) => step) },
    policies: { ...run.policies, steps: Object.fromEntries(policies) },
    undoable: new Set(undoable.map(({ step }) => step.name)),
  };
}

function kindChanged(call: string): UsageError {
  return new UsageError(
    "function.changed",
    `the call "${call}" is of another kind than the one that was recorded under that name; give it another name`,
  );
}

function isChanged({ shape }: FunctionCall, state: RunState): boolean {
  const declared = state.declared.find(({ name }) => name === shape.name);
  return declared !== undefined && (declared.element !== shape.element || declared.signal !== shape.signal);
}
