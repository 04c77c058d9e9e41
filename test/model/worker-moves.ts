// WHO TAKES A RUN UP: any worker, once it is due or its owner is gone, and at times also while its owner is alive.

import { takeOver, takeUp } from "../../src/core/take-up.js";
import { chargesOf, excusedUnlessOnce } from "./charges.js";
import { childIsNews } from "./child-moves.js";
import { remembered } from "./journals.js";
import type { Owner } from "./owner.js";
import type { Scene } from "./scene.js";
import { never, now } from "./shapes.js";
import { deadlineMatters, effectOf, type World, withEffect } from "./world.js";

/** An owner and a zombie. */
const maxOwners = 2;

export function ofWorkers(scene: Scene): void {
  const { journal, owners } = scene.world;
  const { finished, owner } = journal.state;
  if (finished !== undefined || owners.length >= maxOwners) return;
  if (owner === undefined) {
    const late = scene.world.deadline && deadlineMatters({ ...scene.world, owners: [] });
    const child = childIsNews(scene);
    // Until somebody writes, or its child ends, nobody looks at it.
    if (journal.state.dueAt >= never && !late && !child) return;
    const atOnce = late || child;
    const ms = atOnce ? 0 : Math.max(0, journal.state.dueAt - now);
    takesUp(scene, scene.later(scene.world, ms), "claims", undefined);
    return;
  }
  const alive = owners.find((other) => other.current);
  for (const crash of [true, false]) {
    const label = crash ? "takes the run over, a crash" : "takes the run over, no crash";
    if (alive === undefined) takesUp(scene, scene.world, label, { crash });
    else scene.disturbed("takeover", (world) => takesUp(scene, world, `${label}, its owner alive`, { crash }));
  }
}

function takesUp(scene: Scene, world: World, label: string, over: { readonly crash: boolean } | undefined): void {
  const { state } = world.journal;
  const taker = { worker: "w", token: state.owner?.token === "a" ? "b" : "a" };
  const entries = remembered(world.journal, `taken ${over?.crash}`, () =>
    over === undefined ? takeUp(taker) : takeOver(scene.run.shape, state, { ...taker, ...over }, { now, random: 0 }),
  );
  const appended = scene.append(world.journal, entries);
  const before = world.owners.find((other) => other.current);
  let taken: World = {
    ...world,
    orphans: [],
    journal: appended.journal,
    owners: world.owners.map((other) => ({ ...other, current: false })),
  };
  if (over?.crash === false) {
    for (const charge of [...world.orphans, ...(before === undefined ? [] : chargesOf(before))])
      taken = excusedUnlessOnce(scene.run, taken, charge);
  }
  const owner: Owner = {
    current: true,
    stopping: false,
    deployed: world.deployed,
    view: appended.journal,
    hand: { kind: "unsure" },
    beside: [],
    givenUp: false,
  };
  scene.add({ label, to: scene.reads(taken, owner, appended.journal), appended });
}

export function ofLateEffects(scene: Scene): void {
  for (const { name } of scene.run.units) {
    const { late, live, voided } = effectOf(scene.run, scene.world, name);
    if (late > 0 && !live && !voided)
      scene.add({
        label: `${name} takes effect late`,
        to: withEffect(scene.run, scene.world, name, { live: true, late: 0 }),
      });
  }
}
