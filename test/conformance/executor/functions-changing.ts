// A DURABLE FUNCTION WHOSE CODE CHANGES under its runs, and what it notices when its run stops for a while (design 2.3).

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isSuspension } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { errorOf, type MakeExecutor, stop } from "./bench.js";
import { FunctionBench } from "./function-bench.js";

/** Long enough that a run is parked, and taken up again by itself. */
const parking = 1_200;

export function changingFunctions(make: MakeExecutor): void {
  describe("a durable function whose code changes", () => {
    test("steps that were added, removed and put elsewhere are done or left out; those that are recorded are not done again", async () => {
      const bench = new FunctionBench(make);
      let deployed = false;
      const saga = bench.function(async (_, d) => {
        const way = deployed ? ["S3", "S1", "S4"] : ["S1", "S2", "S3"];
        const given: unknown[] = [];
        for (const name of way.slice(0, 2)) given.push(await bench.calls(d, name));
        await d.sleep("long", parking);
        given.push(await bench.calls(d, way[2]!));
        return given;
      });
      const executor = await bench.executor([saga], { logger: bench.logger });
      const run = await executor.start(saga, {});
      await parked(executor, run.id);
      deployed = true;
      expect(await run.outcome()).toEqual({
        status: "completed",
        output: [{ from: "S3" }, { from: "S1" }, { from: "S4" }],
      });
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "S4"]);
      expect(bench.warnings).toMatchObject([{ fields: { runId: run.id, steps: ["S2"] } }]);
    });

    test("a step that was renamed is done again, and its old name is warned about", async () => {
      const bench = new FunctionBench(make);
      let name = "S1";
      const saga = bench.function(async (_, d) => {
        await bench.calls(d, name);
        await d.sleep("long", parking);
      });
      const executor = await bench.executor([saga], { logger: bench.logger });
      const run = await executor.start(saga, {});
      await parked(executor, run.id);
      name = "S2";
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
      expect(bench.warnings).toMatchObject([
        { fields: { steps: ["S1"] }, message: expect.stringContaining("renamed") },
      ]);
    });

    test("a recorded value that its schema no longer accepts ends the run, naming the step; all is undone", async () => {
      const bench = new FunctionBench(make);
      let accepts = true;
      const output: StandardSchemaV1<any, any> = {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: (value) => (accepts ? { value } : { issues: [{ message: "no more" }] }),
        },
      };
      const saga = bench.function(async (_, d) => {
        await bench.call(d, "S1", undefined, { output }).catch(() => {});
        await bench.call(d, "S2");
        await d.sleep("long", parking);
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await parked(executor, run.id);
      accepts = false;
      const outcome = await run.outcome();
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome)).toMatchObject({ step: "S1", cause: { code: "function.changed" } });
      expect(errorOf(outcome).cause.message).toMatch(/"S1".*no more/);
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });

    test("a name that is another kind of call now ends the run, naming it", async () => {
      const bench = new FunctionBench(make);
      let deployed = false;
      const saga = bench.function(async (_, d) => {
        await (deployed ? d.sleep("S1", 1) : bench.calls(d, "S1"));
        await d.sleep("long", parking);
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await parked(executor, run.id);
      deployed = true;
      expect(errorOf(await run.outcome())).toMatchObject({ step: "S1", cause: { code: "function.changed" } });
    });

    test("a step whose undoing the code does not tell any more is owed, by name, until a retry finds it again", async () => {
      const bench = new FunctionBench(make);
      let deployed = false;
      const saga = bench.function(async (_, d) => {
        if (!deployed) await bench.call(d, "S1");
        await bench.call(d, "S2");
        await d.sleep("long", "1h");
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await parked(executor, run.id);
      deployed = true;
      await stop(executor, run.id);
      const outcome = await run.outcome();
      expect(outcome.status).toBe("compensation_failed");
      expect(errorOf(outcome)).toMatchObject({ owed: ["S1"] });
      expect(errorOf(outcome).compensationErrors).toMatchObject([{ step: "S1", error: { code: "function.changed" } }]);
      deployed = false;
      await executor.retry(run.id, { by: "ana" });
      await expect.poll(async () => (await executor.get(run.id))?.status).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
    });

    test("names that objects have of their own are names like others", async () => {
      const bench = new FunctionBench(make);
      const names = ["constructor", "toString", "hasOwnProperty", "valueOf"];
      const saga = bench.function(async (_, d) => {
        for (const name of names) await bench.call(d, name);
        throw new Error("the end");
      });
      await bench.run(saga);
      expect(bench.outside.order()).toEqual([...names, ...[...names].reverse()]);
    });
  });

  describe("a durable function whose run is parked", () => {
    test("has its finally blocks run, and a suspension to tell from a failure; that it lets it through is no news", async () => {
      const bench = new FunctionBench(make);
      const seen: string[] = [];
      const saga = bench.function(async (_, d) => {
        try {
          await d.sleep("long", parking);
        } catch (error) {
          seen.push(isSuspension(error) ? `suspended at ${error.step}` : "failed");
          throw error;
        } finally {
          seen.push("finally");
        }
      });
      const { outcome } = await bench.run(saga, {}, { logger: bench.logger });
      expect(outcome.status).toBe("completed");
      expect(seen).toEqual(["suspended at long", "finally", "finally"]);
      expect(bench.warnings).toEqual([]);
    });

    test.each([
      ["returns", () => "fallback"],
      ["throws something else", () => Promise.reject(new Error("wrapped"))],
      ["asks for something else", (d: any) => d.step("S2", () => ({}), { nothingToUndo: true })],
    ])(
      "and that swallows the suspension and %s is told of in the log, by the step; the run goes on as if nothing was",
      async (_, then) => {
        const bench = new FunctionBench(make);
        const saga = bench.function(async (_input, d) => {
          await d.sleep("long", parking).catch((error) => (isSuspension(error) ? then(d) : Promise.reject(error)));
          return "slept";
        });
        const { outcome } = await bench.run(saga, {}, { logger: bench.logger });
        expect(outcome).toEqual({ status: "completed", output: "slept" });
        expect(bench.warnings).toMatchObject([
          { fields: { step: "long" }, message: expect.stringContaining("suspension") },
        ]);
      },
    );

    test("leaves no promise behind that nobody listens to", async () => {
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => void unhandled.push(reason);
      process.on("unhandledRejection", note);
      try {
        const bench = new FunctionBench(make);
        const saga = bench.function(async (_, d) => {
          void d.sleep("forgotten", "1h");
          void d.all([d.waitForSignal("never"), d.sleep("also", "1h")]);
          void d.step("no/name", () => ({}), { nothingToUndo: true });
          await d.sleep("long", parking);
        });
        expect((await bench.run(saga)).outcome.status).toBe("completed");
        await new Promise((resolve) => setImmediate(resolve));
        expect(unhandled).toEqual([]);
      } finally {
        process.off("unhandledRejection", note);
      }
    });

    test("and that waits for something outside goes on when that comes, without losing its place", async () => {
      const bench = new FunctionBench(make);
      let finish = () => {};
      const outside = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const saga = bench.function(async (_, d) => {
        await bench.calls(d, "S1");
        await outside;
        await bench.calls(d, "S2");
      });
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("S1 is recorded", async () =>
        (await executor.history(run.id)).some(({ entry }) => entry.kind === "step_completed"),
      );
      finish();
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.order()).toEqual(["S1", "S2"]);
    });
  });
}

async function parked(executor: { get(id: string): Promise<{ readonly status: string } | undefined> }, id: string) {
  await until("the run is parked", async () => (await executor.get(id))?.status === "waiting");
}
