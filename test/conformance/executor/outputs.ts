import { TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Bench, errorOf, type MakeExecutor } from "./bench.js";

export function outputs(make: MakeExecutor): void {
  describe("an output", () => {
    test("a saga's own output is computed from the whole context, the input included", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => ({ b: 2 }) })], {
        output: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
      });
      expect((await bench.run(saga, { a: 1 })).outcome).toEqual({ status: "completed", output: { sum: 3 } });
    });

    test("a saga's output that throws fails its last step, which is compensated", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => ({ a: 1 }) })], {
        output: () => {
          throw new TypeError("no such thing");
        },
      });
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "failed", error: { step: "S1", cause: { message: "no such thing" } } });
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("an output is parsed once, and the parsed value is what is stored and what later steps get", async () => {
      const bench = new Bench(make);
      let parsed = 0;
      const toNumber = (text: string) => {
        parsed += 1;
        return Number(text);
      };
      const output = z.object({ n: z.string().transform(toNumber).or(z.number()) });
      const seen: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: () => ({ n: "41" }), output }),
        bench.step("S2", { run: ({ n }) => void seen.push(n) }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toEqual({ status: "completed", output: { n: 41 } });
      expect(seen).toEqual([41]);
      expect(parsed).toBe(1);
    });

    test.each([
      ["does not fit its schema", { n: "not a number" }, z.object({ n: z.number() }), "$.n"],
      ["is what its own schema refuses", { n: 1 }, z.object({ n: z.number().transform(String) }), "own output"],
    ])("an output that %s fails the step at once, in doubt: it is compensated", async (_, output, schema, said) => {
      const bench = new Bench(make);
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: () => output,
          output: schema,
          undo: (__, { outcome, output: given }) => void undos.push([outcome, given]),
        }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome).cause.code).toBe("output.invalid");
      expect(errorOf(outcome).cause.message).toContain(said);
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
      expect(undos).toEqual([["in_doubt", undefined]]);
    });

    test.each([
      ["a string", () => "text"],
      ["an array", () => [1]],
      ["null", () => null],
      ["an instance of a class", () => new (class Reservation {})()],
      ["a key that is there already", () => ({ taken: 2 })],
    ])("an output that is %s is refused, once, and the step is compensated", async (_, run) => {
      const bench = new Bench(make);
      const { outcome } = await bench.run(bench.saga([bench.step("S1", { run })]), { taken: 1 });
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome).cause.code).toBe("output.invalid");
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("a hostile thenable is awaited like any other", async () => {
      const bench = new Bench(make);
      const hostile = {
        // biome-ignore lint/suspicious/noThenProperty: the point of this test
        get then() {
          throw new TerminalError("not to be awaited");
        },
      };
      const { outcome } = await bench.run(bench.saga([bench.step("S1", { run: () => hostile })]));
      expect(outcome).toMatchObject({ status: "failed", error: { cause: { message: "not to be awaited" } } });
    });
  });
}
