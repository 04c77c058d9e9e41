// Two or three things go wrong, or people act, at any moments of a run: the full product, for sagas of a few steps.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import { budgetedSagas, mixedSagas, plainSagas } from "./sagas.js";
import type { Disturbance } from "./shapes.js";

const timeout = (isLong ? 240 : 5) * 60_000;
const kinds: readonly Disturbance[] = ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer"];

afterAll(() => tellCovered("two and three disturbances"));

describe("with two disturbances at any moments", { timeout }, () => {
  test.for(plainSagas)("no interleaving of [%s] breaks a rule, gets stuck or goes round for ever", (saga) =>
    explorationHolds([saga], { kinds }),
  );
  test.for(mixedSagas)("nor does one of [%s]", (saga) => explorationHolds([saga], { kinds }));
  test.for(budgetedSagas)("nor does one of [%s], whose budgets are one or none", (saga) =>
    explorationHolds([saga], { kinds }),
  );
});

describe("with three disturbances at any moments", { timeout }, () => {
  const small = ["c", "c1", "P", "P?", "Pt", "P r", "cn c1"];
  const sagas = isLong ? [...plainSagas, ...mixedSagas, ...budgetedSagas].filter((saga) => saga.length <= 5) : small;
  test.for(sagas)("no interleaving of [%s] breaks a rule, gets stuck or goes round for ever", (saga) =>
    explorationHolds([saga], { disturbances: 3, kinds }),
  );
  test("nor does one of [c1 c] in which operators act beside crashes", () =>
    explorationHolds(["c1 c"], { disturbances: 3, kinds: ["crash", "retry", "resolve", "lost answer"] }));
});

describe("when a deploy changes the budgets, and takes `reconcile` away or adds it", { timeout }, () => {
  const sagas = ["c", "c?", "c1", "P", "P?", "P1?", "P*", "c P", "c? P? r", "c c"];
  test.for(sagas)("no interleaving of [%s] breaks a rule, gets stuck or goes round for ever", (saga) =>
    explorationHolds([saga], {
      disturbances: isLong ? 3 : 2,
      kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "deploy"],
    }),
  );
});
