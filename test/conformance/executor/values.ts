// WHAT VALUES GO THROUGH: exactly, or refused with the place, before anything is half stored.

import { isUndecodable } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Bench, entriesOf, errorOf, type MakeExecutor, rejection } from "./bench.js";

export function values(make: MakeExecutor): void {
  describe("values", () => {
    test("SER-1: nothing is nothing: a step that returns undefined gives no key, and is done", async () => {
      const bench = new Bench(make);
      const seen: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: () => undefined }),
        bench.step("S2", { run: () => ({ given: undefined }) }),
        bench.step("S3", { run: (context) => void seen.push(Object.keys(context), context.given) }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      expect(seen).toEqual([["given"], undefined]);
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3"]);
    });

    test("SER-3: what a step returns is deep-equal for the next one, and for the caller", async () => {
      const bench = new Bench(make);
      const at = new Date(0);
      const value = {
        d: at,
        same: [at, at],
        m: new Map([["a", 1]]),
        s: new Set([1]),
        b: 10n,
        u: undefined,
        re: /a/g,
        buf: Buffer.from("hi"),
        nan: Number.NaN,
        zero: -0,
      };
      const seen: any[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: () => value }),
        bench.step("S2", { run: (context) => void seen.push(context) }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(seen[0]).toEqual(value);
      expect(seen[0].same[0]).toBe(seen[0].same[1]);
      expect(Object.is(seen[0].zero, -0)).toBe(true);
      expect(Buffer.isBuffer(seen[0].buf)).toBe(true);
      expect(outcome).toEqual({ status: "completed", output: value });
    });

    test.each([
      ["a function", { m: () => 1 }, "$.m"],
      ["an instance of a class", { deep: { it: new (class Card {})() } }, "$.deep.it"],
      ["a symbol", { list: [Symbol("x")] }, "$.list[0]"],
    ])("SER-3: %s is refused with its path, terminal, in doubt, nothing half stored", async (_, output, path) => {
      const bench = new Bench(make);
      const { executor, id, outcome } = await bench.run(bench.saga([bench.step("S1", { run: () => output })]));
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome).cause).toMatchObject({ name: "SerializationError", path });
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
      expect((await entriesOf(executor, id)).some((entry) => entry.kind === "step_completed")).toBe(false);
    });

    test("SER-5, SER-6: big integers and large numbers stay what they are, in lists, views and histories", async () => {
      const bench = new Bench(make);
      const output = { id: 9007199254740993n, num: 9007199254740991, s: "9007199254740993", big: 2n ** 64n };
      const saga = bench.saga([bench.step("S1", { run: () => output })]);
      const { executor, id, outcome } = await bench.run(saga, { n: 10n });
      expect(outcome).toEqual({ status: "completed", output });
      expect(await executor.get(id)).toMatchObject({ input: { n: 10n }, output });
      expect((await executor.list({ saga: saga.name })).runs).toHaveLength(1);
      expect((await executor.history(id)).find(({ entry }) => entry.kind === "step_completed")!.output).toEqual(output);
    });

    test("SER-7, SER-9: NUL and lone surrogates survive, in values and in keys", async () => {
      const bench = new Bench(make);
      const output = { t: "a\u0000b", "k\u0000": 1, half: "\ud800", pair: "😀" };
      expect((await bench.run(bench.saga([bench.step("S1", { run: () => output })]))).outcome).toEqual({
        status: "completed",
        output,
      });
      expect(bench.outside.count("S1")).toBe(1);
    });

    test("SER-11: keys that reach for prototypes stay data, or are refused with a path", async () => {
      const bench = new Bench(make);
      const hostile = JSON.parse(
        '{"__proto__":{"admin":true},"constructor":{"name":"x"},"toString":1,"hasOwnProperty":2}',
      );
      const contexts: any[] = [];
      const saga = bench.saga([bench.step("S1", { run: (context) => void contexts.push(context) })]);
      const executor = await bench.executor([saga]);
      const started = await executor.start(saga, hostile).catch((error) => error);
      if (started instanceof Error)
        expect(started).toMatchObject({ name: "SerializationError", path: expect.any(String) });
      else {
        expect((await started.outcome()).status).toBe("completed");
        expect(Object.keys(contexts[0])).toHaveLength(4);
        await executor.get(started.id);
      }
      expect(({} as any).admin).toBeUndefined();
    });

    test("SER-12: a start with what can't be stored rejects at once with the path, and makes no run", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      expect(await rejection(executor.start(saga, { f() {} }))).toMatchObject({
        name: "SerializationError",
        path: "$.f",
      });
      const refused = await rejection(
        executor.start(saga, { nested: { when: new WeakMap() } }, { id: `refused-${saga.name}` }),
      );
      expect(refused).toMatchObject({ code: "value.unserializable", path: "$.nested.when" });
      expect((await executor.list({ saga: saga.name })).runs).toEqual([]);
      expect(await executor.get(`refused-${saga.name}`)).toBeUndefined();
    });

    test("a cycle is a value like any other", async () => {
      const bench = new Bench(make);
      const cyclic: any = { name: "loop" };
      cyclic.self = cyclic;
      const seen: boolean[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: () => ({ cyclic }) }),
        bench.step("S2", { run: ({ cyclic: read }) => void seen.push(read.self === read) }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      expect(seen).toEqual([true]);
    });

    test("SER-14: too large: a start rejects; a step fails once, and is compensated, since it had happened", async () => {
      const bench = new Bench(make);
      const big = "x".repeat(2 * 1024 * 1024);
      const saga = bench.saga([bench.step("S1", { run: () => ({ big }) })]);
      const executor = await bench.executor([saga]);
      expect(await rejection(executor.start(saga, { big }))).toMatchObject({
        code: "value.too_large",
        limit: 1_048_576,
        size: expect.any(Number),
      });
      const outcome = await (await executor.start(saga, {})).outcome();
      expect(errorOf(outcome).cause).toMatchObject({ name: "PayloadTooLargeError", limit: 1_048_576 });
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("maxValueBytes moves the limit", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => ({ text: "x".repeat(200) }) })]);
      const { outcome } = await bench.run(saga, {}, { maxValueBytes: 100 });
      expect(errorOf(outcome).cause).toMatchObject({ code: "value.too_large", limit: 100 });
    });

    test("SER-16: a codec is around every value; what can't be read any more is shown as such and spoils no view", async () => {
      const bench = new Bench(make);
      let lost = false;
      const codec = {
        format: "reversed",
        encode: (text: string) => [...text].reverse().join(""),
        decode: (text: string) => {
          if (lost) throw new Error("the key is gone");
          return [...text].reverse().join("");
        },
      };
      const saga = bench.saga([bench.step("S1", { run: () => ({ secret: "s" }) })]);
      const { executor, id, outcome } = await bench.run(saga, { card: "4242" }, { codec });
      expect(outcome).toEqual({ status: "completed", output: { secret: "s" } });
      const completed = (await entriesOf(executor, id)).find((entry) => entry.kind === "step_completed");
      expect(completed!.output.format).toBe("reversed");
      expect(completed!.output.text).not.toContain("secret");
      lost = true;
      const view = (await executor.get(id))!;
      expect(isUndecodable(view.input) && isUndecodable(view.output)).toBe(true);
      expect(String(view.output)).toBe("undecodable (format reversed)");
      expect((await executor.history(id)).some(({ output }) => isUndecodable(output))).toBe(true);
      expect((await executor.list({ saga: saga.name })).runs).toMatchObject([{ id, status: "completed" }]);
      const handle = await executor.find(id);
      await expect(handle!.outcome()).rejects.toMatchObject({ code: "value.undecodable" });
    });

    test("an input is parsed once: what is stored, and what steps get, is the parsed value", async () => {
      const bench = new Bench(make);
      const contexts: unknown[] = [];
      const input = z.object({ n: z.coerce.number(), currency: z.string().default("EUR") });
      const saga = bench.saga([bench.step("S1", { run: (context) => void contexts.push(context) })], { input });
      const { executor, id } = await bench.run(saga, { n: "41" });
      expect(contexts).toEqual([{ n: 41, currency: "EUR" }]);
      expect((await executor.get(id))!.input).toEqual({ n: 41, currency: "EUR" });
    });

    test("an input that does not fit is refused with all faults, and makes no run", async () => {
      const bench = new Bench(make);
      const input = z.object({ n: z.number(), list: z.array(z.object({ sku: z.string() })) });
      const saga = bench.saga([bench.step("S1")], { input });
      const executor = await bench.executor([saga]);
      const error = await rejection(executor.start(saga, { n: "x", list: [{ sku: 7 }] }));
      expect(error).toMatchObject({ code: "input.invalid" });
      expect(error.faults.map(({ at }: any) => at)).toEqual(["$.n", "$.list[0].sku"]);
      expect((await executor.list({ saga: saga.name })).runs).toEqual([]);
    });

    test("a schema that refuses its own output is refused at the start", async () => {
      const bench = new Bench(make);
      const input = z.object({ at: z.string().transform((text) => new Date(text)) });
      const saga = bench.saga([bench.step("S1")], { input });
      const executor = await bench.executor([saga]);
      const error = await rejection(executor.start(saga, { at: "2026-01-01" }));
      expect(error).toMatchObject({ code: "input.invalid" });
      expect(error.message).toContain("own output");
    });

    test.each([["text"], [[1]], [null], [7]])("an input that is no plain object (%j) is refused", async (input) => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      expect(await rejection(executor.start(saga, input))).toMatchObject({ code: "input.invalid" });
    });

    test("a saga without input takes none", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: (context) => ({ context: { ...context } }) })], {
        input: undefined,
      });
      expect((await bench.run(saga, undefined)).outcome).toEqual({ status: "completed", output: { context: {} } });
    });
  });
}
