// THE CHILD, as a process that its parent knows only by looking: it is begun once, goes its way, and is undone when asked.

import { stillToUndo } from "../../src/core/facts-units.js";
import type { ChildLook } from "../../src/core/policies.js";
import type { Owner } from "./owner.js";
import type { Scene } from "./scene.js";
import type { ChildStatus, World } from "./world.js";

/** How a child that has ended looks. One that is not there, or under way, has not. */
const endOf: Partial<Record<ChildStatus, NonNullable<ChildLook["ended"]>>> = {
  completed: { status: "completed", output: { format: "text", text: "output" } },
  undone: { status: "cancelled" },
  stuck: { status: "compensation_failed" },
};

/** What an owner does to its child when it looks at it: begins it, once for an id, or has it stopped or undone. */
export function looks(scene: Scene, owner: Owner, hand: Extract<Owner["hand"], { kind: "look" }>): void {
  const without = scene.without(owner);
  const { direction, step } = hand;
  const child = direction === "forward" ? begun(without, owner, step) : stopped(without.child);
  const ended = endOf[child];
  const looked: ChildLook = { direction, ...(ended && { ended }) };
  scene.add({
    label: `looks at its child: ${without.child} → ${child}`,
    to: scene.goesOn({ ...without, child }, { ...owner, looked }, owner.view),
  });
}

/** A retried parent has another run begun, under an id of its own; a zombie may still look at the one before. */
function begun({ child, journal }: World, { current }: Owner, step: string): ChildStatus {
  const known = current && journal.state.steps[step]!.child?.ended === undefined;
  return child === "not there" && known ? "live" : child;
}

function stopped(child: ChildStatus): ChildStatus {
  switch (child) {
    // CRASH: its parent may have died before it began it; a run that has ended takes its id, so that no zombie can.
    case "not there":
      return "undone";
    case "live":
    case "completed":
      return "stopping";
    default:
      return child;
  }
}

/** What becomes of the child by itself. */
export function ofChild(scene: Scene): void {
  const ends: Partial<Record<ChildStatus, readonly ChildStatus[]>> = {
    live: ["completed", "undone", "stuck"],
    stopping: ["undone", "stuck"],
  };
  for (const child of ends[scene.world.child] ?? [])
    scene.add({ label: `its child ends: ${child}`, to: { ...scene.world, child } });
}

/** Whether the child has ended and its parent, which nobody drives, is to be looked at for that. */
export function childIsNews({ world, run }: Scene): boolean {
  const step = run.shape.steps.find(({ element }) => element === "child");
  if (step === undefined || endOf[world.child] === undefined) return false;
  const { turned, steps } = world.journal.facts;
  const { child, completed } = steps[step.name]!;
  if (turned !== undefined) return stillToUndo(run.shape, world.journal.facts)[0] === step.name;
  return child !== undefined && child.ended === undefined && !completed;
}
