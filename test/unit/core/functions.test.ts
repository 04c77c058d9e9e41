// What a function's run does next, decided from its journal and from what its owner saw the function do.

import { describe, expect, test } from "vitest";
import type { Append } from "../../../src/core/action.js";
import { decide } from "../../../src/core/decide.js";
import { type Entry, farFuture, type Row, type StepFailed } from "../../../src/core/entry.js";
import { foldRows } from "../../../src/core/fold.js";
import { type DecideContext, defaultRetry, type Replayed } from "../../../src/core/policies.js";
import { projectionOf } from "../../../src/core/projection.js";
import { record } from "../../../src/core/record.js";
import { initialState } from "../../../src/core/state.js";
import { owedSteps } from "../../../src/core/units.js";
import { cancelVerdict, decideCancel, decideResolve, decideRetry } from "../../../src/core/verbs.js";
import type { Shape, StepShape } from "../../../src/definition/shape.js";

const shape: Shape = { steps: [], function: true };
const output = { format: "text", text: "given" };
const error = { name: "Error", message: "no" };

function unit(name: string, of: Partial<StepShape> = {}): StepShape {
  return { name, kind: "compensatable", undone: true, transactional: false, ...of };
}

const a = unit("a");
const b = unit("b");
const nap = unit("nap", { undone: false, element: "sleep" });
const pivot = unit("P", { kind: "pivot", undone: false });
const after = unit("r", { kind: "retriable", undone: false });

const takenUp: Entry = { kind: "taken_up", worker: "w1", token: "t1", crash: false };
const declared = (...units: StepShape[]): Entry => ({ kind: "declared", units });
const done = (step: string): Entry => ({ kind: "step_completed", step, output, attempt: 1 });
const failed = (step: string, doubt: "definite" | "in_doubt" = "definite"): Entry => ({
  kind: "step_failed",
  step,
  attempts: 1,
  error: { ...error, message: `${step} failed` },
  doubt,
});
const passed: Entry[] = [declared(pivot), { kind: "pivot_entered", step: "P" }, done("P")];
const turned: Entry = { kind: "rollback_started", cause: "failure" };

function stateOf(...entries: Entry[]) {
  const rows = [takenUp, ...entries].map(
    (entry, index): Row => ({ number: index + 1, at: 1_000, nonce: "", entries: [entry] }),
  );
  return foldRows(shape, initialState(shape, 0), rows);
}

const policy = { retry: defaultRetry.pivot, compensationRetry: defaultRetry.compensation, maxAsks: 0, attemptMs: 1 };
const steps = Object.fromEntries(["a", "b", "nap", "P", "r"].map((name) => [name, policy]));

function seeing(seen: Partial<Replayed> | undefined, rest: Partial<DecideContext> = {}): DecideContext {
  const replay = { asked: [], unwanted: new Map(), undoable: new Set<string>(), cutShort: false, ...seen };
  const policies = { steps, maxCrashes: 5, deadlineAt: Number.POSITIVE_INFINITY };
  return { now: 2_000, policies, ...(seen === undefined ? {} : { replay }), ...rest };
}

const returned = { kind: "returned", output } as const;

describe("a function going forward", () => {
  test("is let go on where nobody has seen where it stands, or where something is recorded that it waits for", () => {
    expect(decide(shape, stateOf(), seeing(undefined))).toEqual({ kind: "replay" });
    expect(decide(shape, stateOf(declared(a), done("a")), seeing({ asked: [a] }))).toEqual({ kind: "replay" });
    expect(decide(shape, stateOf(declared(a), failed("a")), seeing({ asked: [a] }))).toEqual({ kind: "replay" });
  });

  test("has what it asks for declared before any of it is begun, and declared anew where its kind has changed", () => {
    expect(decide(shape, stateOf(), seeing({ asked: [a, b] }))).toEqual({ kind: "append", entries: [declared(a, b)] });
    const moved = { ...a, kind: "retriable" as const, undone: false };
    const state = stateOf(declared(a), ...passed);
    expect(decide(shape, state, seeing({ asked: [moved] }))).toEqual({ kind: "append", entries: [declared(moved)] });
    expect(stateOf(declared(a), ...passed, declared(moved)).declared).toEqual([moved, pivot]);
  });

  test("that waits for nothing of ours is looked at again when it moves; while something is in hand, when that ends", () => {
    expect(decide(shape, stateOf(), seeing({}))).toEqual({ kind: "replay" });
    const busy = { busy: ["a"] };
    const waits = { kind: "wait", until: farFuture };
    expect(decide(shape, stateOf(declared(a)), seeing({ asked: [a] }, busy))).toEqual(waits);
    expect(decide(shape, stateOf(declared(a)), seeing({}, busy))).toEqual(waits);
  });

  test("does not begin what was declared and is asked for no more", () => {
    const action = decide(shape, stateOf(declared(a), declared(b)), seeing({ asked: [b] }));
    expect(action).toMatchObject({ kind: "run", step: "b" });
  });

  test("enters its pivot in the row that declares it, or after it", () => {
    const action = decide(shape, stateOf(declared(pivot)), seeing({ asked: [pivot] }));
    expect(action).toEqual({ kind: "append", entries: [{ kind: "pivot_entered", step: "P" }] });
  });

  test("completes when it returned: timers are left, steps are let end", () => {
    const state = stateOf(declared(a, nap));
    const finished = { kind: "append", entries: [{ kind: "finished", status: "completed", output }] };
    expect(decide(shape, state, seeing({ asked: [nap], end: returned }))).toEqual(finished);
    expect(decide(shape, state, seeing({ asked: [a, nap], end: returned }))).toMatchObject({ kind: "run", step: "a" });
    const late = seeing({ asked: [nap], end: returned });
    const inTime = { ...late, policies: { ...late.policies, deadlineAt: 1 } };
    expect(decide(shape, state, inTime)).toEqual(finished);
  });

  test("that threw is recorded as failed, and what is in hand ends before it turns", () => {
    const end = { kind: "threw", error, step: "a" } as const;
    const context = seeing({ asked: [b], end }, { busy: ["b"] });
    const state = stateOf(declared(a, b), failed("a"));
    const entry: Entry = { kind: "function_failed", error, step: "a" };
    expect(decide(shape, state, context)).toEqual({ kind: "append", entries: [entry] });
    const then = stateOf(declared(a, b), failed("a"), entry);
    expect(decide(shape, then, context)).toEqual({ kind: "wait", until: farFuture });
    expect(then.underWay.map(({ step }) => step)).toEqual(["b"]);
    expect(decide(shape, then, seeing({ end }))).toEqual({ kind: "append", entries: [turned] });
  });

  test("that threw after its pivot is an operator's; before the pivot is settled, that comes first", () => {
    const end = { kind: "threw", error } as const;
    const failure: Entry = { kind: "function_failed", error };
    expect(decide(shape, stateOf(...passed), seeing({ end }))).toEqual({ kind: "append", entries: [failure] });
    expect(decide(shape, stateOf(...passed, failure), seeing({ end }))).toEqual({
      kind: "append",
      entries: [{ kind: "finished", status: "forward_incomplete" }],
    });
    const entered = stateOf(declared(pivot), { kind: "pivot_entered", step: "P" });
    expect(decide(shape, entered, seeing({ asked: [pivot], end }))).toMatchObject({ kind: "run", step: "P" });
  });

  test("has the first of several failures as its cause, and a failed pivot as any other", () => {
    const both = stateOf(declared(a, b), failed("a", "in_doubt"), failed("b", "in_doubt"));
    expect(both.failure?.step).toBe("a");
    const declined = stateOf(declared(pivot), { kind: "pivot_entered", step: "P" }, failed("P"));
    expect(declined.failure?.step).toBe("P");
    const because: Entry = { ...(failed("b", "in_doubt") as StepFailed), because: "a" };
    expect(stateOf(declared(a, b), because).failure?.step).toBe("b");
  });

  test("turns at the deadline, though nobody has seen where it stands", () => {
    const context = seeing(undefined);
    const late = { ...context, policies: { ...context.policies, deadlineAt: 1 } };
    expect(decide(shape, stateOf(), late)).toMatchObject({ entries: [{ cause: "deadline" }] });
  });

  test("gives up what nobody wants any more: definite where it was not begun, in doubt where it may have been", () => {
    const unwanted = new Map([["b", "a"]]);
    const context = seeing({ asked: [b], unwanted });
    const begun = stateOf(declared(a, b), failed("a"));
    expect(decide(shape, begun, context)).toMatchObject({
      entries: [{ kind: "step_failed", step: "b", doubt: "definite", because: "a" }],
    });
    const lost: Entry = { kind: "taken_up", worker: "w2", token: "t2", from: "t1", crash: true };
    const doubtful = stateOf(declared(a, b), failed("a"), lost);
    const given = decide(shape, doubtful, context) as Append;
    expect(given.entries).toMatchObject([{ kind: "step_failed", doubt: "in_doubt", because: "a" }]);
    const turning = stateOf(declared(a, b), failed("a"), lost, ...given.entries);
    expect(turning.failure).toEqual({ step: "a", error: { ...error, message: "a failed" } });
    expect(owedSteps(shape, turning)).toEqual(["b"]);
  });

  test("an attempt that was aborted because nobody wants it fails for good, whatever it says", () => {
    const unwanted = new Map([["b", undefined]]);
    const context = { ...seeing({ asked: [b], unwanted }), random: 0, worker: "w1", stopping: false };
    const action = { kind: "run", step: "b", direction: "forward", attempt: 1 } as const;
    const threw = { kind: "threw", error, retryable: true, happened: "no", counted: true } as const;
    const entries = record(shape, stateOf(declared(b)), action, { ...threw, aborted: "sibling_failed" }, context);
    expect(entries).toEqual([{ kind: "step_failed", step: "b", attempts: 1, error, doubt: "definite" }]);
  });
});

describe("a function rolling back", () => {
  const state = stateOf(declared(a, b), done("b"), done("a"), turned);

  test("is let go on until it says how a step is undone", () => {
    expect(decide(shape, state, seeing(undefined))).toEqual({ kind: "replay" });
    expect(decide(shape, state, seeing({ asked: [b] }))).toEqual({ kind: "replay" });
    expect(decide(shape, state, seeing({}))).toEqual({ kind: "replay" });
    expect(decide(shape, state, seeing({ end: returned, cutShort: true }))).toEqual({ kind: "replay" });
    const action = decide(shape, state, seeing({ undoable: new Set(["a"]) }));
    expect(action).toMatchObject({ kind: "run", step: "a", direction: "compensate" });
  });

  test("owes a step that it is through without telling how to undo", () => {
    for (const seen of [{ asked: [unit("c")] }, { end: returned }])
      expect(decide(shape, state, seeing(seen))).toMatchObject({
        kind: "append",
        entries: [{ kind: "compensation_failed", step: "a", error: { code: "function.changed" } }],
      });
  });
});

describe("a function's run and its operators", () => {
  test("is asked to stop past its pivot, and told that it is refused, also where it has just failed", () => {
    const state = stateOf(declared(a), done("a"), ...passed, { kind: "function_failed", error });
    const decision = decideCancel(shape, state, { by: "ana" });
    expect(decision.answer).toBe("refused");
    const refused = stateOf(declared(a), done("a"), ...passed, ...decision.entries);
    expect(cancelVerdict(shape, refused, decision)).toMatchObject({ verdict: "refused", pivot: "P" });
  });

  test("a stop ends it at once where nobody drives it and nothing is to be undone", () => {
    const state = stateOf(declared(nap), { kind: "parked", until: 5_000 });
    expect(decideCancel(shape, state, { by: "ana" }).answer).toBe("cancelled");
  });

  test("a retry tries again what ended the run, and nothing that was caught", () => {
    const incomplete: Entry[] = [
      ...[declared(a), failed("a"), ...passed, declared(after), failed("r")],
      { kind: "function_failed", error, step: "r" },
      { kind: "finished", status: "forward_incomplete" },
    ];
    const decision = decideRetry(shape, stateOf(...incomplete), "ana", 2_000);
    const state = stateOf(...incomplete, ...("entries" in decision ? decision.entries : []));
    expect(state.settled).toEqual(["a", "P"]);
    expect(state.steps.a!.failed).toBe("definite");
    expect(state.steps.r!.failed).toBeUndefined();
    expect(state.failure).toBeUndefined();
  });

  test("what a person settled is given like any other outcome", () => {
    const incomplete: Entry[] = [...passed, declared(after), failed("r", "in_doubt")];
    const end: Entry = { kind: "finished", status: "forward_incomplete" };
    const decision = decideResolve(shape, stateOf(...incomplete, end), { step: "r", as: "done", output, by: "ana" });
    const state = stateOf(...incomplete, end, ...("entries" in decision ? decision.entries : []));
    expect(state.settled).toEqual(["P", "r"]);
    expect(projectionOf(shape, state).status).toBe("running");
    const unknown = decideResolve(shape, state, { step: "x", as: "done", by: "ana" });
    expect(unknown).toMatchObject({ refused: expect.stringContaining('no step "x"') });
  });
});
