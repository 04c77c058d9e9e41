// EVERYTHING THAT CAN HAPPEN NEXT in a world.

import { ofChild } from "./child-moves.js";
import type { Journals } from "./journals.js";
import { ofOperators } from "./operator-moves.js";
import { ofOwner } from "./owner-moves.js";
import { type Move, Scene } from "./scene.js";
import type { Explored } from "./shapes.js";
import { ofLateEffects, ofWorkers } from "./worker-moves.js";
import type { World } from "./world.js";

export function movesOf(run: Explored, journals: Journals, world: World): Move[] {
  const scene = new Scene(run, journals, world);
  for (const owner of world.owners) ofOwner(scene, owner);
  ofWorkers(scene);
  ofLateEffects(scene);
  ofChild(scene);
  if (world.left > 0) ofOperators(scene);
  return scene.found;
}
