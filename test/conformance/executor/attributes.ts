// WHAT RUNS CAN BE FOUND BY (design 1.9).

import { describe, expect, test } from "vitest";
import { Bench, type MakeExecutor, rejection, uniqueName } from "./bench.js";

export function attributes(make: MakeExecutor): void {
  describe("attributes", () => {
    const bench = new Bench(make);
    const saga = () => bench.saga([bench.step("S1")]);

    test("list finds the runs that have all of them, of the same type, also together with saga and status", async () => {
      const [one, other] = [saga(), saga()];
      const executor = await bench.executor([one, other]);
      const shop = uniqueName("shop");
      const start = async (of: typeof one, attributes: Record<string, string | number | boolean>) => {
        const run = await executor.start(of, {}, { attributes: { shop, ...attributes } });
        await run.outcome();
        return run.id;
      };
      const a = await start(one, { customer: "c-1", vip: true, total: 5 });
      const b = await start(one, { customer: "c-1", vip: false, total: 5.5 });
      const c = await start(other, { customer: "c-2", vip: true, total: "5" });
      await executor.start(one, {});
      const found = async (attributes: object, more: object = {}) =>
        (await executor.list({ attributes: { shop, ...attributes }, ...more })).runs.map(({ id }) => id);
      expect(await found({})).toEqual([c, b, a]);
      expect(await found({ customer: "c-1" })).toEqual([b, a]);
      expect(await found({ customer: "c-1", vip: true })).toEqual([a]);
      expect(await found({ total: 5 })).toEqual([a]);
      expect(await found({ total: "5" })).toEqual([c]);
      expect(await found({ total: 5.5 })).toEqual([b]);
      expect(await found({ vip: true }, { saga: other.name })).toEqual([c]);
      expect(await found({ vip: true }, { status: "failed" })).toEqual([]);
      expect(await found({ customer: "c" })).toEqual([]);
      expect(await found({ nobody: true })).toEqual([]);
      expect(await found({}, { limit: 2 })).toEqual([c, b]);
    });

    test("none given is no filter and no attribute", async () => {
      const one = saga();
      const executor = await bench.executor([one]);
      const { id } = await executor.start(one, {}, { attributes: {} });
      expect(await executor.get(id)).not.toHaveProperty("attributes");
      const { runs } = await executor.list({ saga: one.name, attributes: {} });
      expect(runs.map((run) => run.id)).toEqual([id]);
      expect(runs[0]).not.toHaveProperty("attributes");
    });

    test("get and list show them as they were given, whatever their keys and characters; execute takes them too", async () => {
      const one = saga();
      const executor = await bench.executor([one]);
      const given = {
        "a.b": "ü 😀 \"'\\ \n",
        constructor: 0,
        "": undefined as never,
        zero: 1e-7,
        big: 1e300,
        no: false,
      };
      delete (given as { ""?: unknown })[""];
      const id = uniqueName("order");
      await executor.execute(one, {}, { id, attributes: given });
      expect((await executor.get(id))!.attributes).toEqual(given);
      expect((await executor.list({ attributes: given })).runs).toMatchObject([{ id, attributes: given }]);
    });

    test("a second start with the same id keeps the first's", async () => {
      const one = saga();
      const executor = await bench.executor([one]);
      const id = uniqueName("order");
      await executor.start(one, {}, { id, attributes: { n: 1 } });
      expect((await executor.start(one, {}, { id, attributes: { n: 2 } })).created).toBe(false);
      expect((await executor.get(id))!.attributes).toEqual({ n: 1 });
    });

    test("what can't be stored is refused, all faults at once, and nothing is written", async () => {
      const one = saga();
      const executor = await bench.executor([one]);
      const attributes = {
        nan: Number.NaN,
        infinite: Number.POSITIVE_INFINITY,
        nothing: null,
        list: [1],
        date: new Date(),
        nul: "a\0b",
        half: "\ud800",
        absent: undefined,
        "": "x",
        ["k".repeat(201)]: 1,
        fine: "yes",
      };
      const error = await rejection(executor.start(one, {}, { attributes: attributes as never }));
      expect(error).toMatchObject({ code: "options.invalid" });
      expect(error.faults.map(({ at }: { at: string }) => at)).toEqual(
        Object.keys(attributes)
          .filter((key) => key !== "fine")
          .map((key) => `attributes.${key}`),
      );
      for (const wrong of [
        null,
        "c-1",
        [],
        new Map(),
        Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, n])),
        { text: "x".repeat(8_192) },
      ]) {
        const options = { attributes: wrong as never };
        for (const refused of [executor.start(one, {}, options), executor.list(options)])
          expect(await rejection(refused)).toMatchObject({ code: "options.invalid", faults: [{ at: "attributes" }] });
      }
      expect((await executor.list({ saga: one.name })).runs).toEqual([]);
    });
  });
}
