// WHAT A FUNCTION'S RUN DOES NEXT, apart from what an element of a list would do in its place: lets the function go on,
// declares what it newly asks for, and ends with it (design 2.3). Part of `decide`.

import { shapeText } from "../definition/shape.js";
import type { Action, Append } from "./action.js";
import { farFuture } from "./entry.js";
import type { DecideContext, Replayed } from "./policies.js";
import type { RunState, Unit } from "./state.js";
import { isSettled } from "./units.js";

/** How the function's own end ends the run: that it returned; that it threw, once that is recorded. */
export function endOfFunction(state: RunState, { replay }: DecideContext): Append | undefined {
  if (state.failure !== undefined)
    return append(
      state.pivotEntered
        ? { kind: "finished", status: "forward_incomplete" }
        : { kind: "rollback_started", cause: "failure" },
    );
  if (replay?.end?.kind !== "returned" || left(replay, state).length > 0) return undefined;
  return append({ kind: "finished", status: "completed", output: replay.end.output });
}

/** What comes before anything that was asked for is begun; undefined: nothing does. */
export function beforeUnits(state: RunState, { replay, busy = [] }: DecideContext): Action | undefined {
  if (replay === undefined || canGoOn(replay, state)) return { kind: "replay" };
  const { end, unwanted } = replay;
  // Whatever it threw meanwhile, a pivot that was entered is settled first.
  const passing = left(replay, state).some(({ kind }) => kind === "pivot") && state.pivotEntered;
  if (end?.kind === "threw" && !passing)
    return append({
      kind: "function_failed",
      error: end.error,
      ...(end.step === undefined ? {} : { step: end.step }),
    });
  const units = left(replay, state);
  const fresh = units.filter((unit) => !isDeclared(unit, state));
  if (fresh.length > 0) return append({ kind: "declared", units: fresh });
  const given = units.find(({ name }) => unwanted.has(name) && !busy.includes(name));
  if (given !== undefined) return giveUp(given, state, unwanted.get(given.name));
  // It waits for something that is not asked of us; or for what is in hand.
  if (units.length === 0) return busy.length > 0 ? { kind: "wait", until: farFuture } : { kind: "replay" };
  return undefined;
}

/** Of what is open, that which the function asks for now: what it asks for no more is left as it is. */
export function askedFor(stage: readonly Unit[], { replay }: DecideContext, state: RunState): readonly Unit[] {
  const units = left(replay!, state);
  return stage.filter(({ name }) => units.some((unit) => unit.name === name));
}

/** Rolling back, what a step is undone by is known once the function has come to it again; undefined: it is known. */
export function beforeUndoing(unit: Unit, state: RunState, { replay }: DecideContext): Action | undefined {
  if (replay?.undoable.has(unit.name)) return undefined;
  if (replay === undefined || replay.cutShort || canGoOn(replay, state)) return { kind: "replay" };
  if (replay.end === undefined && replay.asked.length === 0) return { kind: "replay" };
  const error = {
    name: "UsageError",
    code: "function.changed",
    message: `the function does not say any more how step "${unit.name}" is undone; give it its name and its compensate back, and retry`,
  };
  return append({ kind: "compensation_failed", step: unit.name, attempts: 0, error });
}

/** Whether something is recorded of what it waits for. */
function canGoOn({ asked, end }: Replayed, state: RunState): boolean {
  return end === undefined && asked.some((unit) => isKnownSettled(unit, state));
}

/** What is open of what it asked for. One that has ended waits for no timer and no signal. */
function left({ asked, end }: Replayed, state: RunState): readonly Unit[] {
  const open = asked.filter((unit) => !isKnownSettled(unit, state));
  return end === undefined ? open : open.filter(({ element }) => element !== "sleep" && element !== "signal");
}

/** As what it was recorded, whatever the function asks for under that name today. */
function isKnownSettled({ name }: Unit, state: RunState): boolean {
  const declared = state.declared.find((unit) => unit.name === name);
  return declared !== undefined && isSettled(declared, state);
}

function isDeclared(unit: Unit, state: RunState): boolean {
  const declared = state.declared.find(({ name }) => name === unit.name);
  return declared !== undefined && shapeText({ steps: [declared] }) === shapeText({ steps: [unit] });
}

/** Nobody waits for it any more. What may have happened of it is in doubt. */
function giveUp({ name }: Unit, state: RunState, because: string | undefined): Append {
  const { doubt, child, forward } = state.steps[name]!;
  const error = {
    name: "StepAborted",
    code: "step.aborted",
    message: `step "${name}" was given up: one beside it failed`,
  };
  return append({
    kind: "step_failed",
    step: name,
    attempts: forward.attempts,
    error,
    doubt: doubt || child !== undefined ? "in_doubt" : "definite",
    ...(because === undefined ? {} : { because }),
  });
}

function append(...entries: Append["entries"]): Append {
  return { kind: "append", entries };
}
