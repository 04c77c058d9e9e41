// EVERY SAGA of up to two steps, a pivot and two more, each with one disturbance at any moment; a test per kind of pivot,
// so that they can run beside each other.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import { everySaga } from "./sagas.js";
import type { ExploreOptions } from "./shapes.js";

const minutes = isLong ? 240 : 5;
const options: ExploreOptions = {
  disturbances: isLong ? 2 : 1,
  kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer"],
};

/** Declares the tests of all sagas with this kind of pivot. */
export function testEverySaga(pivot: "none" | "P" | "P?" | "Pt"): void {
  const name = pivot === "none" ? "without a pivot" : `with [${pivot}]`;
  const sagas = everySaga(pivot);
  const lengths = [...new Set(sagas.map(lengthOf))];
  afterAll(() => tellCovered(`every saga ${name}`));
  describe(`every saga ${name}`, { timeout: minutes * 60_000 }, () => {
    test.for(lengths)("of %i steps holds every rule and ends, with a disturbance at any moment", (length) =>
      explorationHolds(
        sagas.filter((saga) => lengthOf(saga) === length),
        options,
      ),
    );
  });
}

function lengthOf(saga: string): number {
  return saga.split(" ").length;
}
