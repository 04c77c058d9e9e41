// WHAT A COMPENSATION IS GIVEN: contexts, outputs, keys, and whether the step happened (design 1.5, 1.8).

import { TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { Bench, type MakeExecutor, never, type UndoTools } from "./bench.js";
import { failingAtFirst, terminal } from "./bodies.js";

export function compensations(make: MakeExecutor): void {
  describe("a compensation", () => {
    test("CMP-10: a step whose outcome is unknown is compensated too, told so, and before the others", async () => {
      const bench = new Bench(make);
      const undos: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: () => ({ a: 1 }),
          undo: (context, { outcome, output }) => void undos.push({ context, outcome, output }),
        }),
        bench.step("S2", {
          timeout: 20,
          grace: 0,
          retry: { maxAttempts: 1 },
          run: never,
          undo: (context, { outcome, output }) => void undos.push({ context, outcome, output }),
        }),
      ]);
      const { id, outcome } = await bench.run(saga, { from: "input" });
      expect(outcome).toMatchObject({ status: "failed", error: { step: "S2", cause: { code: "step.timeout" } } });
      expect(bench.outside.order()).toEqual(["S1", "S2", "C2", "C1"]);
      expect(undos).toEqual([
        { context: { from: "input", a: 1 }, outcome: "in_doubt", output: undefined },
        { context: { from: "input", a: 1 }, outcome: "done", output: { a: 1 } },
      ]);
      expect(bench.outside.calls.find((call) => call.direction === "compensate")?.key).toBe(`${id}/S2/compensate`);
    });

    test("CMP-14: a step that succeeded on a later attempt is undone once, with that attempt's output", async () => {
      const bench = new Bench(make);
      const outputs: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new Error("lost");
            return { attempt };
          },
          undo: (_, { outcome, output }) => void outputs.push([outcome, output]),
        }),
        bench.step("S2", { run: terminal("no stock") }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      expect(outputs).toEqual([["done", { attempt: 2 }]]);
    });

    test("CMP-16: a compensation gets the input and exactly what later steps saw", async () => {
      const bench = new Bench(make);
      const seen: any[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: () => ({ bookingId: "b1", at: new Date(86_400_000) }),
          undo: (context, { output }) => void seen.push({ context, output }),
        }),
        bench.step("S2", {
          run: (context) => {
            seen.push(context);
            throw new TerminalError("no");
          },
        }),
      ]);
      await bench.run(saga, { guests: 2 });
      const booked = { bookingId: "b1", at: new Date(86_400_000) };
      expect(seen).toEqual([
        { guests: 2, ...booked },
        { context: { guests: 2, ...booked }, output: booked },
      ]);
    });

    test("the context of a compensation is the one of its step: outputs of later steps are not in it", async () => {
      const bench = new Bench(make);
      const contexts: unknown[] = [];
      const undo = (context: unknown) => void contexts.push(context);
      const saga = bench.saga([
        bench.step("S1", { run: () => ({ a: 1 }), undo }),
        bench.step("S2", { run: () => ({ b: 2 }), undo }),
        bench.step("S3", { run: terminal("no stock") }),
      ]);
      await bench.run(saga, { from: "input" });
      expect(contexts).toEqual([
        { from: "input", a: 1, b: 2 },
        { from: "input", a: 1 },
      ]);
    });

    test("a compensation has a key of its own, the forward key, and the cause; the key stays over attempts", async () => {
      const bench = new Bench(make);
      const tools: UndoTools[] = [];
      const again = failingAtFirst(1);
      const undo = (_: unknown, given: UndoTools) => {
        tools.push(given);
        again();
      };
      const { id } = await bench.run(
        bench.saga([bench.step("S1", { undo }), bench.step("S2", { run: terminal("no stock") })]),
      );
      expect(
        tools.map(({ key, forwardKey, cause, attempt, runId }) => ({ key, forwardKey, cause, attempt, runId })),
      ).toEqual(
        [1, 2].map((attempt) => ({
          key: `${id}/S1/compensate`,
          forwardKey: `${id}/S1`,
          cause: "failure",
          attempt,
          runId: id,
        })),
      );
      expect(tools.every(({ signal }) => !signal.aborted)).toBe(true);
    });

    test("a compensation in doubt is tried again under the same key: what happened twice is the peer's to tell", async () => {
      const bench = new Bench(make);
      let calls = 0;
      const saga = bench.saga([
        bench.step("S1", {
          timeout: 20,
          grace: 0,
          undo: () => {
            calls += 1;
            return calls === 1 ? never() : undefined;
          },
        }),
        bench.step("S2", { run: terminal("no stock") }),
      ]);
      expect((await bench.run(saga)).outcome.status).toBe("failed");
      const keys = bench.outside.calls.filter((call) => call.direction === "compensate").map((call) => call.key);
      expect(keys).toHaveLength(2);
      expect(new Set(keys).size).toBe(1);
    });

    test("doubt of an earlier attempt stays: a later definite error does not clear it, and the step is compensated", async () => {
      const bench = new Bench(make);
      const outcomes: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt === 1) throw new Error("connection lost");
            throw new TerminalError("declined");
          },
          undo: (_, { outcome }) => void outcomes.push(outcome),
        }),
      ]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "failed", error: { cause: { message: "declined" } } });
      expect(outcomes).toEqual(["in_doubt"]);
    });
  });
}
