// MANY STARTS IN ONE: all or none (design 1.9, 2.2).

import { RunConflictError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Bench, type MakeExecutor, rejection, uniqueName } from "./bench.js";

export function startingMany(make: MakeExecutor): void {
  describe("startMany", () => {
    const listed = async (executor: Awaited<ReturnType<Bench["executor"]>>, saga: { name: string }) =>
      (await executor.list({ saga: saga.name, limit: 1_000 })).runs.map(({ id }) => id);

    test("a run for each input, handles in their order, and each runs to its end", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: ({ n }) => ({ twice: 2 * n }) })]);
      const executor = await bench.executor([saga]);
      const runs = await executor.startMany(
        saga,
        Array.from({ length: 40 }, (_, n) => ({ n })),
      );
      expect(runs.every(({ created }) => created)).toBe(true);
      expect(await Promise.all(runs.map((run) => run.result({ timeout: "20s" })))).toEqual(
        Array.from({ length: 40 }, (_, n) => ({ twice: 2 * n })),
      );
      expect(await listed(executor, saga)).toEqual(runs.map(({ id }) => id).reverse());
    });

    test("ids and attributes by functions of input and place; startAt and priority for all", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const name = uniqueName("order");
      const startAt = new Date(Date.now() + 3_600_000);
      const inputs = ["b", "a", "c"].map((of) => ({ of }));
      const runs = await executor.startMany(saga, inputs, {
        id: ({ of }, index) => `${name}-${of}-${index}`,
        attributes: ({ of }) => ({ of, name }),
        startAt,
        priority: 5,
      });
      expect(runs.map(({ id }) => id)).toEqual([`${name}-b-0`, `${name}-a-1`, `${name}-c-2`]);
      const found = await executor.list({ attributes: { of: "a", name } });
      expect(found.runs.map(({ id }) => id)).toEqual([`${name}-a-1`]);
      expect(await executor.get(`${name}-c-2`)).toMatchObject({ startAt, input: { of: "c" }, status: "pending" });
    });

    test("attributes that are no function are everybody's", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const batch = uniqueName("batch");
      await executor.startMany(saga, [{}, {}], { attributes: { batch } });
      expect((await executor.list({ attributes: { batch } })).runs).toHaveLength(2);
    });

    test("no inputs, no runs", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      expect(await executor.startMany(saga, [])).toEqual([]);
    });

    test("IDM-1: an id that exists gives back its run, also one of the same call; handles stay in order", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      const name = uniqueName("order");
      const id = ({ n }: { n: number }) => `${name}-${n}`;
      await executor.start(saga, { n: 2 }, { id: `${name}-2` });
      const runs = await executor.startMany(saga, [{ n: 3 }, { n: 2 }, { n: 1 }, { n: 3 }], { id });
      expect(runs.map((run) => [run.id, run.created])).toEqual([
        [`${name}-3`, true],
        [`${name}-2`, false],
        [`${name}-1`, true],
        [`${name}-3`, false],
      ]);
      await Promise.all(runs.map((run) => run.outcome({ timeout: "20s" })));
      expect(bench.outside.count("S1")).toBe(3);
    });

    test.each(["that exists", "of the same call"])(
      "IDM-1: an id %s with another input is a conflict, and nothing is written",
      async (which) => {
        const bench = new Bench(make);
        const saga = bench.saga([bench.step("S1")]);
        const executor = await bench.executor([saga]);
        const id = uniqueName("order");
        const before = which === "that exists" ? [(await executor.start(saga, { n: 1 }, { id })).id] : [];
        const inputs = [{ n: 7 }, ...(before.length === 0 ? [{ n: 1, same: true }] : []), { n: 2, same: true }];
        const error = await rejection(
          executor.startMany(saga, inputs, { id: (input, index) => (input.same ? id : `${id}-${index}`) }),
        );
        expect(error).toBeInstanceOf(RunConflictError);
        expect(error).toMatchObject({ code: "run.conflict", runId: id });
        expect(await listed(executor, saga)).toEqual(before);
      },
    );

    test("every fault of every input at once, with its place, and nothing is written", async () => {
      const bench = new Bench(make);
      const input = z.object({ n: z.number().optional(), big: z.any().optional() });
      const saga = bench.saga([bench.step("S1")], { input });
      const executor = await bench.executor([saga]);
      const inputs = [{ n: 0 }, { n: "x" }, { n: 2 }, { n: 3 }, { n: 4, big: () => {} }, { n: 5 }, null];
      const error = await rejection(
        executor.startMany(saga, inputs, {
          id: (_, index) => {
            if (index === 3) throw new Error("no id for three");
            return index === 2 ? "" : `${saga.name}-${index}`;
          },
          attributes: (_, index) => (index === 5 ? { of: null as never } : {}),
        }),
      );
      expect(error).toMatchObject({ code: "input.invalid" });
      expect(error.faults.map(({ at }: { at: string }) => at)).toEqual([
        "inputs[1].n",
        "id[2]",
        "id[3]",
        "inputs[4]",
        "attributes[5].of",
        "inputs[6]",
      ]);
      expect(error.message).toContain("no id for three");
      expect(await listed(executor, saga)).toEqual([]);
    });

    test("a message tells of a hundred faults, the error of all", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")], { input: z.object({ n: z.number() }) });
      const executor = await bench.executor([saga]);
      const error = await rejection(executor.startMany(saga, Array(2_500).fill({})));
      expect(error.faults).toHaveLength(2_500);
      expect(error.faults.at(-1).at).toBe("inputs[2499].n");
      expect(error.message.split("\n")).toHaveLength(102);
    });

    test("wrong options are refused", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1")]);
      const executor = await bench.executor([saga]);
      for (const options of [
        { id: "x" },
        { ids: () => "x" },
        { attributes: { a: null } },
        { priority: "1" },
        { tx: {} },
      ])
        expect(await rejection(executor.startMany(saga, [{}], options as never))).toMatchObject({
          code: "options.invalid",
        });
      for (const inputs of [undefined, {}, "ab", Array(100_001).fill({})])
        expect(await rejection(executor.startMany(saga, inputs as never))).toMatchObject({ code: "options.invalid" });
      expect(await rejection(executor.startMany(bench.saga([bench.step("S1")]), []))).toMatchObject({
        code: "saga.unknown",
      });
      await executor.close();
      expect(await rejection(executor.startMany(saga, [{}]))).toMatchObject({ code: "executor.closed" });
    });
  });
}
