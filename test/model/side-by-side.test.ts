// Sagas in which two bodies are in one owner's hand: any of them may be lost, given up, aborted or settled beside the other.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import type { Disturbance } from "./shapes.js";

const timeout = (isLong ? 240 : 5) * 60_000;
const kinds: readonly Disturbance[] = ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "signal"];

afterAll(() => tellCovered("two bodies in hand"));

describe("with one disturbance at any moment", { timeout }, () => {
  const sagas = ["c|c", "c1|c1 c1", "ct|c", "c1|c1? P1", "P r1|r1", "E1", "P E1", "z|c", "w|c", "k|c", "P k|r", "w|z"];
  test.for(isLong ? [...sagas, "c|c P", "c|c? P", "P r|r", "E", "E c", "e|c"] : sagas)(
    "no interleaving of [%s] breaks a rule, gets stuck or goes round for ever",
    (saga) =>
      explorationHolds([saga], { disturbances: isLong ? 2 : 1, kinds: isLong ? [...kinds, "takeover"] : kinds }),
  );
});

describe("with two disturbances at any moments", { timeout }, () => {
  test.for(["c1|c1n", "z|w", "k|w"])(
    "no interleaving of [%s] breaks a rule, gets stuck or goes round for ever",
    (saga) => explorationHolds([saga], { kinds: ["crash", "takeover", "shutdown", "cancel", "signal"] }),
  );
});
