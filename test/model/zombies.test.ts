// An owner that was declared dead, and goes on with what it had in hand: it may send one more request, and writes nothing.
// And peers that can't void a key: then a lost request lands within its attempt's limit, and waiting for that has to do.

import { afterAll, describe, test } from "vitest";
import { explorationHolds, isLong, tellCovered } from "./exploring.js";
import { mixedSagas, plainSagas } from "./sagas.js";

const timeout = (isLong ? 120 : 5) * 60_000;
const zombies = isLong
  ? [...plainSagas, ...mixedSagas]
  : ["c", "c?", "ct", "c1", "P", "P?", "Pt", "P r", "c P", "ct Pt rt"];
const bounded = isLong
  ? [...plainSagas, ...mixedSagas]
  : ["c", "c?", "c c", "P", "P?", "c P r", "c? P?", "c1 P1?", "cn? P", "c c? P"];

afterAll(() => tellCovered("zombies and bounded peers"));

describe("a zombie", { timeout }, () => {
  test.for(zombies)("of [%s] never writes, whatever it had in hand, and what it sends late does no harm", (saga) =>
    explorationHolds([saga], { disturbances: 2 }),
  );
});

describe("where the other side can void no key", { timeout }, () => {
  test.for(bounded)("[%s] is undone only once no lost attempt can still be under way", (saga) =>
    explorationHolds([saga], {
      peer: "bounded",
      kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer"],
    }),
  );
});
