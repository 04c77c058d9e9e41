// WHAT PEOPLE AND THE CLOCK MAY DO at any moment: ask to stop, retry, settle a step, deploy, let the deadline pass.

import { decideSignal } from "../../src/core/signalling.js";
import {
  type CancelDecision,
  type CancelVerdict,
  cancelVerdict,
  decideCancel,
  decideResolve,
  decideRetry,
  type OperatorDecision,
} from "../../src/core/verbs.js";
import { output } from "./answers.js";
import { remembered } from "./journals.js";
import type { Move, Scene } from "./scene.js";
import { now } from "./shapes.js";
import { deadlineMatters, effectOf, type Verdict, type World, withEffect } from "./world.js";

const by = "ana";

export function ofOperators(scene: Scene): void {
  const { journal, deadline } = scene.world;
  const { shape } = scene.run;
  if (!deadline && deadlineMatters(scene.world))
    scene.disturb("deadline", () => ({ label: "the deadline passes", to: { ...scene.world, deadline: true } }));
  if (!scene.world.deployed)
    scene.disturb("deploy", () => ({ label: "a deploy changes budgets", to: { ...scene.world, deployed: true } }));
  scene.disturbed("cancel", (world) => cancels(scene, world));
  scene.disturbed("retry", (world) => {
    const decided = remembered(journal, "retry", () => decideRetry(shape, journal.state, by, now));
    const retried = settles(scene, world, "an operator retries", decided);
    if (retried === undefined) return;
    const effects = retried.to.effects.map((effect) => ({ ...effect, charged: 0, undoCharged: 0 }));
    scene.add({ ...retried, to: { ...retried.to, effects } });
  });
  scene.disturbed("signal", (world) => sends(scene, world));
  for (const step of Object.keys(journal.facts.steps))
    for (const as of ["done", "not_done", "undone"] as const) {
      if (as === "not_done" && effectOf(scene.run, scene.world, step).live) continue;
      scene.disturbed("resolve", (world) => {
        const resolution = { step, as, by, ...(as === "done" ? { output } : {}) };
        const decided = remembered(journal, `${step} ${as}`, () => decideResolve(shape, journal.state, resolution));
        const resolved = settles(scene, world, `an operator settles ${step} as ${as}`, decided);
        if (resolved !== undefined) scene.add({ ...resolved, to: arranged(scene, resolved.to, step, as) });
      });
    }
}

/** What an operator says is true, and stays so: not done means that the key is dead (1.10). */
function arranged(scene: Scene, world: World, step: string, as: "done" | "not_done" | "undone"): World {
  if (scene.run.shape.steps.some(({ name, element }) => name === step && element === "child"))
    return { ...world, child: as === "done" ? "completed" : "undone" };
  if (as === "done") return withEffect(scene.run, world, step, { live: true });
  if (as === "not_done") return withEffect(scene.run, world, step, { voided: true });
  return withEffect(scene.run, world, step, { live: false, undone: true, voided: true });
}

/** Somebody sends the signal; what it brings is in the journal. */
function sends(scene: Scene, world: World): void {
  const { journal } = world;
  if (!scene.run.shape.steps.some(({ signal }) => signal === "s")) return;
  const decided = remembered(journal, "signal", () =>
    decideSignal(scene.run.shape, journal.state, { signal: "s", payload: output }),
  );
  const settled = settles(scene, world, "somebody sends a signal", decided);
  if (settled !== undefined) scene.add(settled);
}

function settles(scene: Scene, world: World, label: string, decided: OperatorDecision): Move | undefined {
  if ("refused" in decided || decided.entries.length === 0) return undefined;
  const appended = scene.append(world.journal, decided.entries);
  return { label, to: { ...world, journal: appended.journal }, appended };
}

function cancels(scene: Scene, world: World): void {
  const { journal } = world;
  const { shape } = scene.run;
  const decided: CancelDecision = remembered(journal, "cancel", () => decideCancel(shape, journal.state, { by }));
  if (decided.entries.length === 0) return;
  const appended = scene.append(journal, decided.entries);
  const verdict = cancelVerdict(shape, appended.journal.state, decided);
  const promised = promiseOf(verdict);
  const faults = verdict.verdict === "cancelled" && appended.journal.state.finished?.status !== "cancelled";
  scene.add({
    label: `somebody asks to stop: ${verdict.verdict}`,
    to: {
      ...world,
      journal: appended.journal,
      promised: world.promised.includes(promised) ? world.promised : [...world.promised, promised].sort(),
    },
    appended,
    faults: faults ? ['1.7 "cancelled" was answered, and the run is not'] : [],
  });
}

function promiseOf(verdict: CancelVerdict): Verdict {
  switch (verdict.verdict) {
    case "rolling_back":
      return verdict.cause;
    case "refused":
      return "refused";
    default:
      return "cancelling";
  }
}
