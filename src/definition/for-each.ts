// A STEP FOR EACH ITEM OF A LIST: one element, whose items are done and undone by the one step.

import { UsageError } from "../errors/usage-errors.js";
import type { CheckedItemStep, ItemOutput, UndoingOf } from "./check-members.js";
import { elementDefaults, readKeyedName, readRequired } from "./element.js";
import { faultsOfStep, markStep } from "./made-by.js";
import { shownValue } from "./option-faults.js";
import { OptionReader } from "./option-reader.js";
import type { StepDefinition } from "./saga.js";
import type { Step } from "./typed-step.js";

/** What {@link forEach} takes. */
export interface ForEachOptions<Name extends string, Context, Items extends readonly unknown[], Each extends Step> {
  /** By the rules of a step's name. The outputs go under this key of the context, in the order of the items. */
  readonly name: Name;
  /** The items: a pure function of the context. What it answers first holds, over crashes and deploys. May be empty. */
  readonly over: (context: Context) => Items;
  /**
   * Does one item, which is its context, and undoes it. A plain step: no pivot, no `when`, no `into`, no other element. Its
   * name is not used: an item's key is `runId/name/index`, its compensation's `runId/name/index/compensate`.
   */
  readonly step: Each & CheckedItemStep<Each, Items[number]>;
  /** How many items may be under way at once: a whole number from 1. Default 1: one after the other, in order. */
  readonly concurrency?: number | undefined;
}

/**
 * Does a step once for each item, and gives `{ [name]: outputs }`. How it is undone is the step's to say; the items that
 * were done, or may have been, are undone in reverse order.
 *
 * @example
 * forEach({ name: "parcels", over: (order: { parcels: Parcel[] }) => order.parcels, step: shipParcel, concurrency: 4 })
 */
export function forEach<const Name extends string, Context, Items extends readonly unknown[], Each extends Step>(
  options: ForEachOptions<Name, Context, Items, Each>,
): Step<Name, Context, { [K in Name]: ItemOutput<Each>[] }, UndoingOf<Each>, "each" | "keyed"> {
  const read = new OptionReader(options, "forEach()", ["name", "over", "step", "concurrency"]);
  const keyed = readKeyedName(read);
  const over = readRequired(read, "over", "the function that gives the items");
  const step = readItemStep(read);
  const { retry, compensationRetry, timeoutMs, graceMs, nothingToUndo } = step;
  return markStep(
    {
      ...elementDefaults,
      ...keyed,
      ...{ retry, compensationRetry, timeoutMs, graceMs, nothingToUndo },
      element: "each",
      each: Object.freeze({ step, concurrency: readConcurrency(read) }),
      run: (context: unknown) => checkedItems(over(context, undefined), keyed.name),
    },
    read.faults,
  ) as never;
}

/** Stands for a step that can't be used, so that nothing more is said of it. */
const noStep: StepDefinition = Object.freeze({ ...elementDefaults, name: "", run: () => [], nothingToUndo: true });

function readItemStep(read: OptionReader): StepDefinition {
  const given = read.value("step");
  const faults = faultsOfStep(given);
  if (faults === undefined) {
    read.refuse("step", given === undefined ? "is missing: the step of an item" : `${shownValue(given)} is not a step`);
    return noStep;
  }
  for (const { at, fault } of faults) if (at !== "name") read.refuse(`step.${at}`, fault);
  const step = given as StepDefinition;
  const refused = refusalOf(step);
  if (refused === undefined) return step;
  read.refuse("step", refused);
  return noStep;
}

function refusalOf({ name, pivot, element, when, into }: StepDefinition): string | undefined {
  if (pivot) return "is a pivot; the point of no return is passed once, not for each item";
  if (element !== undefined) return `"${name}" is another element of a list; an item takes a step`;
  if (when !== undefined) return `"${name}" has \`when\`; leave the items out of \`over\` instead`;
  if (into === undefined) return undefined;
  return `"${name}" has \`into\`, but outputs of items go into a list; use the step that it was made of`;
}

function readConcurrency(read: OptionReader): number {
  const given = read.value("concurrency");
  if (given === undefined) return 1;
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  read.refuse("concurrency", `${shownValue(given)} is not a whole number from 1`);
  return 1;
}

function checkedItems(items: unknown, name: string): readonly unknown[] {
  if (Array.isArray(items)) return items;
  throw new UsageError("element.invalid", `forEach "${name}": \`over\` gave ${shownValue(items)}, not a list of items`);
}
