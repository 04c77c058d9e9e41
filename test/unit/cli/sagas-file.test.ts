// FINDING SAGAS in a file, and targets for people to read.

import { describe, expect, it } from "vitest";
import { loadSagas } from "../../../src/cli/sagas-file.js";
import { targetText } from "../../../src/cli/target.js";
import { root } from "../../docs/programs.js";

describe("loadSagas", () => {
  it("finds what a file exports, in arrays too, each once", async () => {
    const sagas = await loadSagas("sagas/index.ts", root);
    expect(sagas.map((saga) => saga.name)).toEqual([
      "order-fulfilment",
      "trip-booking",
      "onboarding",
      "money-transfer",
    ]);
  });

  it("says what is wrong with a file", async () => {
    await expect(loadSagas("nowhere.js", root)).rejects.toThrow(/there is no file .*nowhere\.js/);
    await expect(loadSagas("src/errors/nearest.ts", root)).rejects.toThrow("exports no saga");
  });
});

describe("targetText", () => {
  it.each([
    ["postgres://ana:secret@db:5432/shop", "postgres://ana:***@db:5432/shop, schema s"],
    ["postgres://db/shop?password=secret&x=1", "postgres://db/shop?password=***&x=1, schema s"],
    ["embedded:/x", "embedded:/x, schema s"],
  ])("never tells the password of %s", (database, text) => {
    expect(targetText({ database, schema: "s", tenant: "" })).toBe(text);
  });
});
