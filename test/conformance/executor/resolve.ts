// SETTLING A STEP BY HAND: a person says how it came out, and the saga goes on from there (design 1.4).

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../support/until.js";
import { aborted, Bench, kindsOf, type MakeExecutor, rejection } from "./bench.js";
import { down, terminal } from "./bodies.js";

const by = "ana@shop.example";
export function resolving(make: MakeExecutor): void {
  describe("resolve", () => {
    const inDoubt = (bench: Bench, options: Record<string, unknown> = {}) =>
      bench.saga([
        bench.step("S1", { run: () => ({ a: 1 }) }),
        bench.pivot("P", { retry: { maxAttempts: 1 }, run: down, ...options }),
        bench.forward("S3", { run: ({ chargeId }) => ({ shipped: chargeId }) }),
      ]);

    test("a pivot in doubt, done: the saga goes forward with what the operator says that it gave", async () => {
      const bench = new Bench(make);
      const { executor, id, outcome } = await bench.run(inDoubt(bench));
      expect(outcome.status).toBe("in_doubt");
      await executor.resolve(id, {
        step: "P",
        as: "done",
        output: { chargeId: "c7" },
        by,
        note: "found it in the ledger",
      });
      expect(await (await executor.find(id))!.outcome()).toEqual({
        status: "completed",
        output: { a: 1, chargeId: "c7", shipped: "c7" },
      });
      expect(bench.outside.order()).toEqual(["S1", "P", "S3"]);
      const resolved = (await executor.history(id)).find(({ entry }) => entry.kind === "resolved")!;
      expect(resolved).toMatchObject({
        entry: { step: "P", as: "done", by, note: "found it in the ledger" },
        output: { chargeId: "c7" },
      });
    });

    test("a pivot in doubt, not_done: it rolls back and ends failed", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench));
      await executor.resolve(id, { step: "P", as: "not_done", by });
      const outcome = await (await executor.find(id))!.outcome();
      expect(outcome).toMatchObject({ status: "failed", error: { step: "P", cause: { message: "connection lost" } } });
      expect(bench.outside.order()).toEqual(["S1", "P", "C1"]);
    });

    test("a pivot in doubt, not_done, with nothing to undo: it ends at once", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.pivot("P", { retry: { maxAttempts: 1 }, run: down })]);
      const { executor, id } = await bench.run(saga);
      await executor.resolve(id, { step: "P", as: "not_done", by });
      expect((await (await executor.find(id))!.outcome()).status).toBe("failed");
    });

    test("a step after the pivot that failed: done", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.pivot("P"), bench.forward("S2", { run: terminal() }), bench.forward("S3")]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      await executor.resolve(id, { step: "S2", as: "done", output: { by: "hand" }, by });
      expect(await (await executor.find(id))!.outcome()).toEqual({ status: "completed", output: { by: "hand" } });
      expect(bench.outside.order()).toEqual(["P", "S2", "S3"]);
    });

    test("while it is being tried: the attempt is aborted, and its late outcome dropped", async () => {
      const bench = new Bench(make);
      let reason: any;
      const saga = bench.saga([
        bench.pivot("P"),
        bench.forward("S2", {
          run: async (_, { signal, attempt }) => {
            if (attempt === 1) down();
            reason = await aborted(signal);
            return { from: "the attempt" };
          },
        }),
        bench.forward("S3"),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S2 runs again", () => bench.outside.count("S2") === 2);
      await executor.resolve(run.id, { step: "S2", as: "done", output: { from: "the operator" }, by });
      expect(await run.outcome()).toEqual({ status: "completed", output: { from: "the operator" } });
      expect(reason).toMatchObject({ reason: "resolved", step: "S2" });
      expect((await kindsOf(executor, run.id)).filter((kind) => kind === "step_completed")).toHaveLength(2);
    });

    test("a compensation that is owed: undone; when nothing is owed any more the run ends by its cause", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { undo: terminal("no 1") }),
        bench.step("S2", { undo: terminal("no 2") }),
        bench.step("S3", { run: terminal("no stock") }),
      ]);
      const { executor, id, outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "compensation_failed", error: { owed: ["S2", "S1"] } });
      await executor.resolve(id, { step: "S2", as: "undone", by });
      expect(await executor.get(id)).toMatchObject({ status: "compensation_failed", owed: ["S1"] });
      await executor.resolve(id, { step: "S1", as: "undone", by });
      const ended = await (await executor.find(id))!.outcome();
      expect(ended).toMatchObject({ status: "failed", error: { step: "S3", owed: [] } });
      expect(bench.outside.count("S2", "compensate")).toBe(1);
    });

    test("a compensation that is being tried: undone: it is aborted, and the next one follows", async () => {
      const bench = new Bench(make);
      let reason: any;
      const saga = bench.saga([
        bench.step("S1"),
        bench.step("S2", {
          undo: async (_, { signal }) => {
            reason = await aborted(signal);
            throw reason;
          },
        }),
        bench.step("S3", { run: terminal() }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("C2 runs", () => bench.outside.count("S2", "compensate") === 1);
      await executor.resolve(run.id, { step: "S2", as: "undone", by });
      expect((await run.outcome()).status).toBe("failed");
      expect(reason.reason).toBe("resolved");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C2", "C1"]);
    });

    test("anything else is refused, and nothing is written", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench));
      const before = await executor.history(id);
      const refused = [
        { step: "P", as: "undone" },
        { step: "S1", as: "done" },
        { step: "S1", as: "undone" },
        { step: "S1", as: "not_done" },
        { step: "S3", as: "done" },
        { step: "S3", as: "not_done" },
        { step: "S9", as: "done" },
      ] as const;
      for (const resolution of refused)
        expect(await rejection(executor.resolve(id, { ...resolution, by }))).toMatchObject({
          code: "resolve.not_applicable",
        });
      const unknown = await rejection(executor.resolve(id, { step: "S9", as: "done", by }));
      expect(unknown.message).toContain("S1, P, S3");
      for (const wrong of [
        { step: "P", as: "perhaps", by },
        { step: "P", as: "done" },
        { as: "done", by },
        { step: "P", as: "done", by, reason: "x" },
      ])
        expect(await rejection(executor.resolve(id, wrong as never))).toMatchObject({ code: "options.invalid" });
      expect(await executor.history(id)).toEqual(before);
    });

    test("an operator's output is checked like the step's own", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench, { output: z.object({ chargeId: z.string() }) }));
      const settle = (output: unknown) => executor.resolve(id, { step: "P", as: "done", output, by });
      const misfit = await rejection(settle({ chargeId: 7 }));
      expect(misfit).toMatchObject({
        code: "options.invalid",
        faults: [{ at: "output.chargeId", fault: expect.any(String) }],
      });
      await settle({ chargeId: "c7" });
      expect((await (await executor.find(id))!.outcome()).status).toBe("completed");
    });

    test("an output that is no object, or that takes a key of another step, is refused", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(inDoubt(bench));
      for (const output of ["text", [1], null, { a: 2 }]) {
        const error = await rejection(executor.resolve(id, { step: "P", as: "done", output, by }));
        expect(error).toMatchObject({ code: "output.invalid" });
      }
      expect((await executor.get(id))!.status).toBe("in_doubt");
    });

    test("an output that can't be stored, or that lets the saga's own output fail, is refused", async () => {
      const bench = new Bench(make);
      const saga = bench.saga(
        [bench.step("S1", { run: () => ({ a: 1 }) }), bench.pivot("P", { retry: { maxAttempts: 1 }, run: down })],
        { output: ({ chargeId }: { chargeId: string }) => ({ charge: chargeId.toUpperCase() }) },
      );
      const { executor, id } = await bench.run(saga);
      const settle = (output: unknown) => executor.resolve(id, { step: "P", as: "done", output, by });
      expect(await rejection(settle({ chargeId() {} }))).toMatchObject({ code: "value.unserializable" });
      const uncomputable = await rejection(settle(undefined));
      expect(uncomputable).toMatchObject({ code: "output.invalid", cause: expect.any(TypeError) });
      await settle({ chargeId: "c7" });
      expect(await (await executor.find(id))!.outcome()).toEqual({ status: "completed", output: { charge: "C7" } });
    });
  });
}
