// AN EXPLORATION AS A TEST: what it covered is counted, and a counterexample fails the test as a trace that can be read.

import { explore } from "./explore.js";
import { type ExploreOptions, explored } from "./shapes.js";

/** Set to explore for an hour instead of minutes: every saga with two disturbances, the small ones with three. */
export const isLong = process.env.RUBICON_MODEL === "long";

const covered = { sagas: 0, worlds: 0, ends: 0, began: Date.now() };

/** Explores each of `sagas` to its end. Throws at the first thing that does not hold. */
export function explorationHolds(sagas: readonly string[], options: ExploreOptions = {}): void {
  for (const saga of sagas) {
    const { worlds, ends, counterexample } = explore(explored(saga, options));
    covered.sagas += 1;
    covered.worlds += worlds;
    covered.ends += ends;
    if (counterexample === undefined) continue;
    const trace = counterexample.trace.map((line, index) => `  ${index + 1}. ${line}`).join("\n");
    throw new Error(`[${saga}] ${counterexample.faults.join("; ")}\n${trace}`);
  }
}

/** Says what was covered since the last time. */
export function tellCovered(what: string): void {
  const { sagas, worlds, ends, began } = covered;
  const seconds = ((Date.now() - began) / 1_000).toFixed(0);
  process.stdout.write(
    `${what}: ${count(sagas)} explorations, ${count(worlds)} states, ${count(ends)} complete runs, ${seconds} s\n`,
  );
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
