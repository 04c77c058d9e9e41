// Two things go wrong, or two people act, at any two moments of a run: the full product, for sagas of a few steps.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import { budgetedSagas, mixedSagas, plainSagas } from "./sagas.js";
import type { ExploreOptions } from "./shapes.js";

const minutes = isLong ? 120 : 5;
const options: ExploreOptions = {
  disturbances: isLong ? 3 : 2,
  kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer"],
};

afterAll(() => tellCovered("two disturbances"));

describe("with two disturbances at any moments", { timeout: minutes * 60_000 }, () => {
  test.for(plainSagas)("no interleaving of [%s] breaks a rule, gets stuck or goes round for ever", (saga) =>
    explorationHolds([saga], options),
  );
  test.for(mixedSagas)("nor does one of [%s]", (saga) => explorationHolds([saga], options));
  test.for(budgetedSagas)("nor does one of [%s], whose budgets are one or none", (saga) =>
    explorationHolds([saga], options),
  );
});
