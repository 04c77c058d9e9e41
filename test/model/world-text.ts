// WHICH WORLDS ARE THE SAME: a text that two of them share when nothing that can still happen tells them apart.

import { actionText, type Owner, outcomeText } from "./owner.js";
import type { Explored } from "./shapes.js";
import { deadlineMatters, type World } from "./world.js";

export function worldText(run: Explored, world: World): string {
  const { facts } = world.journal;
  const [first, second] = world.owners;
  let text = `${world.journal.id};`;
  if (second !== undefined) text += [ownerText(first!), ownerText(second)].sort().join("|");
  else if (first !== undefined) text += ownerText(first);
  const back = facts.turned !== undefined;
  for (let index = 0; index < world.effects.length; index += 1) {
    const { live, voided, late, undone, charged, undoCharged } = world.effects[index]!;
    const { completed, compensated } = facts.steps[run.shape.steps[index]!.name]!;
    text += live ? ";L" : ";";
    if (voided) text += "V";
    else if (late > 0) text += `l${late}`;
    if (undone && run.hasPivot) text += "U";
    text += `${completed || back ? "" : charged}.${compensated ? "" : undoCharged}`;
  }
  if (world.orphan !== undefined) text += `;${world.orphan.step}${world.orphan.direction}`;
  if (world.deadline && deadlineMatters(world)) text += ";D";
  if (world.deployed) text += ";N";
  return `${text};${world.left}${world.promised.join()}`;
}

const entriesIds = new WeakMap<object, number>();
let lastId = 0;

function ownerText({ current, stopping, deployed, view, hand }: Owner): string {
  return `${current ? "c" : "z"}${stopping ? "s" : ""}${deployed ? "n" : ""}${view.id}${handText(hand)}`;
}

function handText(hand: Owner["hand"]): string {
  switch (hand.kind) {
    case "offer":
      if (!entriesIds.has(hand.entries)) {
        lastId += 1;
        entriesIds.set(hand.entries, lastId);
      }
      return `o${entriesIds.get(hand.entries)}`;
    case "body":
      return `b${actionText(hand.action)}${hand.landed ? "L" : ""}${hand.aborted ?? ""}`;
    case "outcome":
      return `h${actionText(hand.action)}${outcomeText(hand.outcome)}`;
    case "sleep":
      return `w${hand.until}`;
    case "unsure":
      return "u";
  }
}
