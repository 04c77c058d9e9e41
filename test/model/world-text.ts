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
    const { completed = false, compensated = false } = facts.steps[run.units[index]!.name] ?? {};
    text += live ? ";L" : ";";
    if (voided) text += "V";
    else if (late > 0) text += `l${late}`;
    if (undone && run.hasPivot) text += "U";
    text += `${completed || back ? "" : charged}.${compensated ? "" : undoCharged}`;
  }
  for (const { step, direction } of world.orphans) text += `;${step}${direction}`;
  if (world.child !== "not there") text += `;${world.child}`;
  if (world.deadline && deadlineMatters(world)) text += ";D";
  if (world.deployed) text += ";N";
  return `${text};${world.left}${world.promised.join()}`;
}

const entriesIds = new WeakMap<object, number>();
let lastId = 0;

function ownerText({ current, stopping, givenUp, deployed, view, hand, beside, looked }: Owner): string {
  const flags = `${current ? "c" : "z"}${stopping ? "s" : ""}${givenUp ? "g" : ""}${deployed ? "n" : ""}`;
  // Which of several bodies is looked at first makes no difference.
  const bodies = hand.kind === "body" ? [hand, ...beside] : beside;
  const texts = bodies.map(handText).sort().join("+");
  return `${flags}${view.id}${hand.kind === "body" ? "" : handText(hand)}${texts}${looked ?? ""}`;
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
    case "look":
      return `k${hand.direction}`;
    case "unsure":
      return "u";
  }
}
