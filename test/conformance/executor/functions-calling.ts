// WHAT A DURABLE FUNCTION MAY ASK FOR, and what is refused at the call (design 1.1, 2.3).

import { defineFunction, isSagaError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { errorOf, kindsOf, type MakeExecutor, rejection } from "./bench.js";
import { FunctionBench } from "./function-bench.js";

export function callsOfFunctions(make: MakeExecutor): void {
  describe("the calls of a durable function", () => {
    test("the time and ids are the same each time it is run from the top", async () => {
      const bench = new FunctionBench(make);
      const passes: unknown[] = [];
      const saga = bench.function(async (_, d) => {
        const seen = [await d.now(), await d.now("begun"), d.uuid(), d.uuid(), d.uuid("order")];
        passes.push(seen);
        await d.sleep("long", 1_200);
        return seen;
      });
      const { executor, id, outcome } = await bench.run(saga);
      expect(passes).toHaveLength(2);
      expect(passes[0]).toEqual(passes[1]);
      const [first, , ...ids] = (outcome as any).output;
      expect(first).toBeInstanceOf(Date);
      expect(new Set(ids).size).toBe(3);
      for (const each of ids)
        expect(each).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const kinds = (await kindsOf(executor, id)).filter((kind) => kind === "step_completed");
      expect(kinds).toHaveLength(2);
    });

    test("a signal that does not come in time gives that, or fails, as it was asked", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        const given = await d.waitForSignal("approval", { within: 20 });
        const failed = await rejection(d.waitForSignal("review", { within: 20, onTimeout: "fail" }));
        return { given, failed: failed.code };
      });
      const { outcome } = await bench.run(saga);
      expect(outcome).toEqual({
        status: "completed",
        output: { given: { received: false }, failed: "signal.timed_out" },
      });
    });

    test("a run that it starts exists once, is not waited for, and is not undone", async () => {
      const bench = new FunctionBench(make);
      const other = bench.saga([bench.step("S9")]);
      const saga = bench.function(async (_, d) => {
        const started = await d.start("other", other, { n: 1 });
        const named = await d.start("named", other, { n: 2 }, { id: `${started.id}-named` });
        await d.sleep("long", 1_200);
        throw Object.assign(new Error("the end"), { data: [started.id, named.id] });
      });
      const executor = await bench.executor([saga, other]);
      const run = await executor.start(saga, {});
      const outcome = await run.outcome();
      expect(outcome.status).toBe("failed");
      const ids = [`${run.id}/other`, `${run.id}/other-named`];
      for (const id of ids) expect((await (await executor.find(id))!.outcome()).status).toBe("completed");
      expect(bench.outside.order()).toEqual(["S9", "S9"]);
    });

    test("an id that another run has is a failure that it may catch", async () => {
      const bench = new FunctionBench(make);
      const other = bench.saga([bench.step("S9")]);
      const saga = bench.function(async (input, d) => {
        const error = await rejection(d.start("other", other, { n: 1 }, { id: input.taken }));
        return error.code;
      });
      const executor = await bench.executor([saga, other]);
      const { id } = await executor.start(other, { n: 2 });
      expect(await executor.execute(saga, { taken: id })).toBe("run.conflict");
    });

    test("what its schema makes of an output is what is recorded; what it refuses had run, so it is in doubt", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (input, d) => {
        const options = { output: z.object({ n: z.number().default(3) }) };
        return bench.call(d, "S1", () => (input.wrong ? { n: "no" } : {}), options);
      });
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: { n: 3 } });
      const { outcome } = await bench.run(saga, { wrong: true });
      expect(errorOf(outcome)).toMatchObject({ step: "S1", cause: { code: "output.invalid" } });
      expect(bench.outside.order()).toEqual(["S1", "S1", "C1"]);
    });

    test("an output that can't be stored fails the run, which is undone", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        return () => {};
      });
      const { outcome } = await bench.run(saga);
      expect(errorOf(outcome).cause).toMatchObject({ code: "value.unserializable" });
      expect(bench.outside.order()).toEqual(["S1", "C1"]);
    });

    test("each has a name of its own: the same one again is an error, and no silent replay", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1");
        return (await rejection(d.sleep("S1", 1))).code;
      });
      expect((await bench.run(saga)).outcome).toEqual({ status: "completed", output: "function.name_taken" });
    });

    test.each([
      ["a step before the pivot that says nothing of undoing", "compensate", (d: any) => d.step("x", () => 1)],
      [
        "a compensation after the pivot",
        "after the pivot",
        (d: any) => d.step("x", () => 1, { compensate: () => {} }),
        "pivot",
      ],
      ["a second pivot", "at most one pivot", (d: any) => d.pivot("x", () => 1), "pivot"],
      ["an option that is unknown", "retrys", (d: any) => d.step("x", () => 1, { nothingToUndo: true, retrys: 1 })],
      ["a step without a body", "run", (d: any) => d.step("x", undefined, { nothingToUndo: true })],
      ["a transactional step", "transaction", (d: any) => d.step("x", () => 1, { transaction: true })],
      ["a condition", "`if`", (d: any) => d.step("x", () => 1, { when: () => true })],
      [
        "both ways of undoing",
        "contradicts",
        (d: any) => d.step("x", () => 1, { nothingToUndo: true, compensate: () => 1 }),
      ],
      ["a name that keys can't have", '"/"', (d: any) => d.sleep("a/b", 1)],
      ["a length that is none", "for", (d: any) => d.sleep("x", "soon")],
      ["a length that is computed", "duration", (d: any) => d.sleep("x", () => 1)],
      ["a child that is no saga", "defineSaga", (d: any) => d.child("x", {}, {})],
      ["a start of what is no saga", "defineFunction", (d: any) => d.start("x", {}, {})],
      ["options that are none", "options", (d: any) => d.step("x", () => 1, "no")],
    ])("%s is refused at the call", async (_, why, call, before = "") => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_input, d) => {
        if (before === "pivot") await d.pivot("P", () => ({}));
        const error = await rejection(call(d));
        return isSagaError(error, "function.call_refused") && error.message;
      });
      const { outcome } = await bench.run(saga);
      expect((outcome as any).output).toContain(why);
    });

    test("a pivot beside other calls is refused, and so is a call beside a pivot", async () => {
      const bench = new FunctionBench(make);
      const saga = bench.function(async (_, d) => {
        const nap = d.sleep("nap", 10);
        const early = await rejection(d.pivot("early", () => ({})));
        await nap;
        const pivot = d.pivot("P", () => ({}));
        const beside = await rejection(d.sleep("beside", 10));
        await pivot;
        return [early.message, beside.message];
      });
      const { outcome } = await bench.run(saga);
      expect((outcome as any).output).toEqual([
        expect.stringContaining('"nap" did not end yet'),
        expect.stringContaining("the pivot did not end yet"),
      ]);
    });

    test("a definition with faults is refused with all of them", () => {
      const define = () => defineFunction({ name: "", version: 0, run: undefined, steps: [] } as any);
      expect(define).toThrow(/name.*version.*run/s);
      expect(define).toThrow(/steps/);
    });
  });
}
