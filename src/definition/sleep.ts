// A SLEEP: an element that does nothing for a time. It holds no worker meanwhile.

import { UsageError } from "../errors/usage-errors.js";
import { type Duration, readDuration } from "./duration.js";
import { elementDefaults } from "./element.js";
import { markStep } from "./made-by.js";
import { stepNameFault } from "./names.js";
import { OptionReader } from "./option-reader.js";
import type { StepDefinition } from "./saga.js";
import type { Step } from "./typed-step.js";

/** What {@link sleep} takes. */
export interface SleepOptions<Name extends string, Context> {
  /** By the rules of a step's name, and among all names of a saga the only one. */
  readonly name: Name;
  /**
   * How long, from the moment when the sleep begins: at least 0, never `Infinity`. Or a pure function of the context that
   * says so; what it answers first holds, over crashes and deploys.
   */
  readonly for: Duration | ((context: Context) => Duration);
}

/**
 * Sleeps, and gives nothing. A saga that has a pivot may sleep before it and after it; asking to stop wakes it.
 *
 * A duration that is computed is checked when it is: then the element fails with `element.invalid`.
 *
 * @example
 * sleep({ name: "cooling-off", for: "24h" })
 * @example
 * sleep({ name: "hold", for: (order: { holdDays: number }) => `${order.holdDays}d` })
 */
export function sleep<const Name extends string, Context = unknown>(
  options: SleepOptions<Name, Context>,
): Step<Name, Context, void, "nothingToUndo", "sleep"> {
  const read = new OptionReader(options, "sleep()", ["name", "for"]);
  const name = read.name("name", read.value("name"), stepNameFault);
  return markStep(
    { ...elementDefaults, name, element: "sleep", nothingToUndo: true, ...readLength(read, name) },
    read.faults,
  ) as never;
}

/** `run` gives the length in milliseconds, and throws what is wrong with one that was computed. */
function readLength(read: OptionReader, name: string): Pick<StepDefinition, "run" | "sleepMs"> {
  const given = read.value("for");
  if (typeof given === "function") return { run: (context) => computedMs(given(context), name) };
  if (given === undefined) read.refuse("for", "is missing: how long to sleep");
  const sleepMs = read.duration("for", {}) ?? 0;
  return { run: () => sleepMs, sleepMs };
}

function computedMs(value: unknown, name: string): number {
  const length = readDuration(value);
  if ("ms" in length) return length.ms;
  throw new UsageError("element.invalid", `sleep "${name}": \`for\` gave a value that can't be slept: ${length.fault}`);
}
