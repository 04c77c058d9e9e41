// WHAT SHOULD BE TRUE OF A WORLD, whatever its journal says: of the effects outside, of the answers given, of the budgets.

import type { EndStatus } from "../../src/core/entry.js";
import { owed } from "../../src/core/facts-units.js";
import { projectionOf } from "../../src/core/projection.js";
import { budgetOf } from "./charges.js";
import { hears } from "./owner.js";
import { type Explored, policyFor } from "./shapes.js";
import { effectOf, policiesOf, type Verdict, type World } from "./world.js";

/** Which ends keep an answer that was given (1.7). */
const endsOf: Record<Verdict, readonly EndStatus[]> = {
  cancelling: ["cancelled", "compensation_failed"],
  cancel: ["cancelled", "compensation_failed"],
  failure: ["failed", "compensation_failed"],
  deadline: ["timed_out", "compensation_failed"],
  refused: ["completed", "failed", "compensation_failed", "forward_incomplete", "in_doubt"],
};

/** What is not true of `world`, though it should be. */
export function faultsOf(run: Explored, world: World): string[] {
  const faults = [
    ...pivotFaults(run, world),
    ...budgetFaults(run, world),
    ...askFaults(run, world),
    ...stopFaults(run, world),
  ];
  const status = world.journal.state.finished?.status;
  if (status === undefined) return faults;
  for (const verdict of world.promised)
    if (!endsOf[verdict].includes(status)) faults.push(`1.7 "${verdict}" was answered, and the run ended ${status}`);
  return [...faults, ...endFaults(run, world, status), ...rowFaults(run, world, status)];
}

function pivotFaults(run: Explored, world: World): string[] {
  const pivot = run.shape.steps.find((step) => step.kind === "pivot");
  const both =
    pivot !== undefined && effectOf(run, world, pivot.name).live && world.effects.some(({ undone }) => undone);
  return both ? ["1.10 the pivot happened, and a step was compensated"] : [];
}

function budgetFaults(run: Explored, world: World): string[] {
  return run.units.flatMap(({ name: step }) => {
    const { charged, undoCharged } = effectOf(run, world, step);
    const over =
      charged > budgetOf(run, { step, direction: "forward" }) ||
      undoCharged > budgetOf(run, { step, direction: "compensate" });
    return over ? [`1.6 a body of "${step}" was executed more often than its budget allows`] : [];
  });
}

function askFaults(run: Explored, { owners }: World): string[] {
  const bodies = owners.flatMap(({ hand, beside, view }) => [hand, ...beside].map((body) => ({ hand: body, view })));
  return bodies.flatMap(({ hand, view }) => {
    if (hand.kind !== "body" || hand.action.kind !== "run" || hand.action.direction !== "forward") return [];
    const { step } = hand.action;
    const { maxAsks } = policyFor(run.judged.before, step);
    const asked = maxAsks > 0 && Number.isFinite(maxAsks);
    return asked && view.facts.steps[step]!.doubt
      ? [`1.5 "${step}" is in doubt, and is run again instead of being asked about`]
      : [];
  });
}

/** What turns a saga back, or ends it, waits for what runs: that is to hear of it. */
function stopFaults(run: Explored, world: World): string[] {
  const { driver, firstCause, turned } = world.journal.facts;
  if (driver === undefined || firstCause === undefined || turned !== undefined) return [];
  return world.owners
    .filter(({ current }) => current)
    .flatMap((owner) => [owner.hand, ...owner.beside].map((hand) => ({ ...owner, hand })))
    .flatMap((owner) => {
      if (owner.hand.kind !== "body" || owner.hand.aborted !== undefined) return [];
      const reason = hears({ run, policies: policiesOf(world, owner) }, { ...owner, stopping: false }, world.journal);
      return reason === undefined ? [`1.7 "${owner.hand.action.step}" runs on, and is not told to stop`] : [];
    });
}

/** 1.4: a clean word never covers an unclean state. */
function endFaults(run: Explored, world: World, status: EndStatus): string[] {
  const { facts } = world.journal;
  const remaining = owed(run.shape, facts);
  const units = run.units.flatMap(({ name, kind, undone }) => {
    const { live } = effectOf(run, world, name);
    const seen = facts.steps[name];
    // An item of a list that was never listed, or a step that was skipped: nothing of it happened.
    const none = seen === undefined || seen.holds === false;
    if (none) return live ? [`1.1 "${name}" was not to run, and is done`] : [];
    switch (status) {
      case "completed":
        return live ? [] : [`1.4 completed, and "${name}" is not done`];
      case "forward_incomplete":
      case "in_doubt":
        return seen.completed && !live ? [`1.4 ${status}, and "${name}" is not done any more`] : [];
      default:
        return live && (kind !== "compensatable" || undone) && !remaining.includes(name)
          ? [`1.4 ${status}, and "${name}" is still done`]
          : [];
    }
  });
  return [...units, ...childFaults(run, world, status)];
}

/** A child is done where its parent is, and undone where that is, unless the parent owes it. */
function childFaults({ shape }: Explored, { child, journal: { facts } }: World, status: EndStatus): string[] {
  const step = shape.steps.find(({ element }) => element === "child");
  if (step === undefined || facts.steps[step.name]!.holds === false) return [];
  const owes = facts.turned === undefined || owed(shape, facts).includes(step.name);
  if (status === "completed") return child === "completed" ? [] : [`1.4 completed, and its child is ${child}`];
  if (owes || child === "undone") return [];
  return child === "not there" ? [] : [`1.4 ${status}, and its child is ${child}`];
}

/** What the run's row would show of its end, against the raw rows. */
function rowFaults(run: Explored, { journal }: World, status: EndStatus): string[] {
  const shown = projectionOf(run.shape, journal.state);
  const remaining = journal.facts.turned === undefined ? "" : owed(run.shape, journal.facts).join();
  return [
    ...(shown.status === journal.facts.finished ? [] : [`1.4 the row shows ${shown.status}, and it ended ${status}`]),
    ...(shown.owed.join() === remaining ? [] : [`1.8 the row shows ${shown.owed} as owed, and it is ${remaining}`]),
  ];
}
