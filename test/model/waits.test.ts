// Sagas that sleep, wait for signals, skip steps, list items and run children, disturbed at any moments, with zombies.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import type { Disturbance } from "./shapes.js";

const timeout = (isLong ? 240 : 5) * 60_000;
const people: readonly Disturbance[] = ["cancel", "deadline", "retry", "resolve", "signal"];
const kinds: readonly Disturbance[] = ["crash", "takeover", "shutdown", "lost answer", ...people];

afterAll(() => tellCovered("waits, lists and children"));

describe("with two disturbances at any moments", { timeout }, () => {
  const short = ["z c", "w c", "w! c", "w|w", "ci", "k", "k P", "P w! r", "P zi", "P k"];
  test.for(isLong ? [...short, "w|w c", "c w P", "c ci", "e", "c k c", "P k r", "P e r", "P ei1"] : short)(
    "no interleaving of [%s] breaks a rule, gets stuck or goes round for ever",
    (saga) => explorationHolds([saga], { kinds }),
  );
});

describe("with one disturbance at any moment", { timeout }, () => {
  const longer = ["c z P", "c w c", "w P w", "ci c P r", "c k c", "e", "c? e", "et P", "P e r", "P k r", "w e"];
  test.for(longer)("no interleaving of [%s] breaks a rule, gets stuck or goes round for ever", (saga) =>
    explorationHolds([saga], { disturbances: isLong ? 2 : 1, kinds }),
  );
});
