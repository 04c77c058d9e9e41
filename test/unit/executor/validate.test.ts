import type { StandardSchemaV1 } from "@standard-schema/spec";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkValue, parseValue } from "../../../src/executor/validate.js";

const schema = (validate: (value: unknown) => unknown): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "test", validate: validate as StandardSchemaV1["~standard"]["validate"] },
});
const refusing = (...issues: StandardSchemaV1.Issue[]) => schema(() => ({ issues }));

describe("a value that is recorded", () => {
  it("is parsed: what the schema makes of it is what is stored", async () => {
    const order = z.object({ sku: z.string().trim(), quantity: z.int().default(1) });
    expect(await parseValue(order, { sku: " a ", extra: true })).toEqual({ value: { sku: "a", quantity: 1 } });
  });

  it("may be parsed asynchronously", async () => {
    const slow = z.string().refine(async (text) => text !== "no");
    expect(await parseValue(slow, "yes")).toEqual({ value: "yes" });
    expect((await parseValue(slow, "no")).faults).toHaveLength(1);
  });

  it("may be parsed to undefined", async () => {
    expect(await parseValue(z.undefined(), undefined)).toEqual({ value: undefined });
  });

  it("is refused with all faults, each with its path", async () => {
    const order = z.object({ items: z.array(z.object({ name: z.string() })), "a b": z.number() });
    const { faults } = await parseValue(order, { items: [{ name: 1 }], "a b": "x" });
    expect(faults?.map((fault) => fault.at)).toEqual(["$.items[0].name", '$["a b"]']);
    expect(faults?.[0]?.fault).toMatch(/string/);
  });

  it("by a schema that does not accept its own output is refused, for it could not be read again", async () => {
    const lengthOf = z.string().transform((text) => text.length);
    const { faults } = await parseValue(lengthOf, "abc");
    expect(faults).toEqual([{ at: "$", fault: expect.stringMatching(/^the schema does not accept its own output: /) }]);
  });

  it("by one that does is stored as it was parsed first", async () => {
    expect(
      await parseValue(
        z.string().transform((text) => `${text}!`),
        "hi",
      ),
    ).toEqual({ value: "hi!" });
    expect(await parseValue(z.coerce.date(), "1970-01-01")).toEqual({ value: new Date(0) });
  });
});

describe("a value that is read", () => {
  it("is only checked", async () => {
    const exclaimed = z.string().transform((text) => `${text}!`);
    expect(await checkValue(exclaimed, "hi!")).toEqual([]);
    expect(await checkValue(z.string(), 5)).toEqual([{ at: "$", fault: expect.any(String) }]);
  });
});

describe("schemas of other libraries", () => {
  it("may name a path by segments, symbols and numbers", async () => {
    const path = ["items", { key: 0 }, { key: "na me" }, Symbol("id"), 2];
    expect(await checkValue(refusing({ message: "no", path }), 1)).toEqual([
      { at: '$.items[0]["na me"]["Symbol(id)"][2]', fault: "no" },
    ]);
  });

  it("that throw, or reject, are faults", async () => {
    const error = new Error("broken schema");
    const thrown = [{ at: "$", fault: "the schema threw: broken schema" }];
    const throwing = schema(() => {
      throw error;
    });
    expect(await parseValue(throwing, 1)).toEqual({ faults: thrown });
    expect(
      await checkValue(
        schema(() => Promise.reject(error)),
        1,
      ),
    ).toEqual(thrown);
    expect(
      await checkValue(
        schema(() => undefined),
        1,
      ),
    ).toHaveLength(1);
    expect(await checkValue({} as StandardSchemaV1, 1)).toHaveLength(1);
  });

  it("that refuse without saying why are told as such", async () => {
    expect(await checkValue(refusing(), 1)).toEqual([{ at: "$", fault: "the schema refuses it without saying why" }]);
  });

  it("of thousands of faults 50 are told, the others counted", async () => {
    const faults = await checkValue(refusing(...Array.from({ length: 5_000 }, () => ({ message: "no" }))), 1);
    expect(faults).toHaveLength(51);
    expect(faults.at(-1)).toEqual({ at: "$", fault: "and 4950 more" });
  });
});
