// EVERY SAGA of up to two steps, a pivot and two more, each with one disturbance at any moment; declared per kind of
// pivot, so that the files can run beside each other.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import { everySaga } from "./sagas.js";
import type { ExploreOptions } from "./shapes.js";

const minutes = isLong ? 240 : 5;
// An answer that is lost matters only when something else happens before it is heard: with a second disturbance.
const options: ExploreOptions = isLong
  ? { disturbances: 2, kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer"] }
  : { disturbances: 1, kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve"] };

/** Declares the tests of all sagas with these kinds of pivot. */
export function testEverySaga(...pivots: ("none" | "P" | "P?" | "Pt")[]): void {
  afterAll(() => tellCovered(`every saga with pivot ${pivots.join(" or ")}`));
  describe.for(pivots)("every saga with pivot %s", { timeout: minutes * 60_000 }, (pivot) => {
    const sagas = everySaga(pivot);
    test.for([...new Set(sagas.map(lengthOf))])(
      "of %i steps holds every rule and ends, with a disturbance at any moment",
      (length) =>
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
