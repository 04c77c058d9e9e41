// STEPS BESIDE EACH OTHER, FOR EACH ITEM, AND ONLY SOMETIMES: parallel, forEach, `when` (issue 3; design 1.3, 2.1).

import { forEach, parallel, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import { aborted, Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, stop } from "./bench.js";

const all = (...branches: unknown[]) => (parallel as any)(branches) as any;
const each = (options: Record<string, unknown>) => (forEach as any)(options) as any;

const declined = () => {
  throw new TerminalError("declined");
};

export function sideBySide(make: MakeExecutor): void {
  describe("steps in parallel", () => {
    test("run at once, each sees what was before them, and what they give is merged", async () => {
      const bench = new Bench(make);
      const both = gate();
      let begun = 0;
      const contexts: unknown[] = [];
      const meeting = (output: unknown) => async (context: unknown) => {
        contexts.push(context);
        begun += 1;
        if (begun === 2) both.open();
        await both.promise;
        return output;
      };
      const saga = bench.saga([
        all(bench.step("S1", { run: meeting({ a: 1 }) }), bench.step("S2", { run: meeting({ b: 2 }) })),
        bench.step("S3", { run: (context) => void contexts.push(context) }),
      ]);
      const { outcome } = await bench.run(saga, { from: "input" });
      expect(outcome).toMatchObject({ status: "completed", output: { a: 1, b: 2 } });
      expect(contexts).toEqual([{ from: "input" }, { from: "input" }, { from: "input", a: 1, b: 2 }]);
    });

    test("one that fails for good aborts the others, which are awaited; all is undone in reverse of the list", async () => {
      const bench = new Bench(make);
      const reasons: string[] = [];
      const undone: string[] = [];
      const undo = (name: string) => (_: unknown, tools: any) => void undone.push(`${name} ${tools.outcome}`);
      const waits = async (_: unknown, { signal }: any) => {
        const reason = await aborted(signal);
        reasons.push(reason.reason);
        throw reason;
      };
      const other = gate();
      const saga = bench.saga([
        bench.step("S0", { undo: undo("S0") }),
        all(
          bench.step("S1", { undo: undo("S1"), run: waits }),
          bench.step("S2", { undo: undo("S2"), run: () => void other.open() }),
          bench.step("S3", { undo: undo("S3"), run: () => other.promise.then(declined) }),
        ),
      ]);
      const { outcome, executor, id } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(errorOf(outcome).step).toBe("S3");
      expect(reasons).toEqual(["sibling_failed"]);
      expect(undone).toEqual(["S2 done", "S1 in_doubt", "S0 done"]);
      const kinds = await kindsOf(executor, id);
      expect(kinds.filter((kind) => kind === "rollback_started")).toHaveLength(1);
      expect(kinds.indexOf("rollback_started")).toBeGreaterThan(kinds.indexOf("attempt_failed"));
    });

    test("one that is tried again does not hold up the other", async () => {
      const bench = new Bench(make);
      const failing = bench.step("S1", {
        retry: { firstDelay: 30 },
        run: () => {
          if (bench.outside.count("S1") < 3) throw Object.assign(new Error("busy"), { status: 503 });
        },
      });
      const { outcome } = await bench.run(bench.saga([all(failing, bench.step("S2")), bench.step("S3")]));
      expect(outcome.status).toBe("completed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S1", "S1", "S3"]);
    });

    test("a stop aborts all of them, and undoes what was done and what may have been", async () => {
      const bench = new Bench(make);
      const reasons: string[] = [];
      const waits = async (_: unknown, { signal }: any) => {
        const reason = await aborted(signal);
        reasons.push(reason.reason);
        throw reason;
      };
      const saga = bench.saga([
        all(bench.step("S1", { run: waits }), bench.step("S2"), bench.step("S3", { run: waits })),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("one of them is done", async () => (await kindsOf(executor, run.id)).includes("step_completed"));
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelling" });
      expect((await run.outcome({ timeout: "10s" })).status).toBe("cancelled");
      expect(reasons).toEqual(["cancelled", "cancelled"]);
      expect(bench.outside.order().slice(3)).toEqual(["C3", "C2", "C1"]);
    });

    test("after the pivot one that fails for good leaves the run forward_incomplete; retried, all of them are done", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.pivot("P"),
        all(
          bench.forward("S1", { run: () => (bench.outside.count("S1") === 1 ? declined() : undefined) }),
          bench.forward("S2"),
        ),
      ]);
      const { outcome, executor, id } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      await executor.retry(id, { by: "ana" });
      const handle = (await executor.find(id))!;
      expect((await handle.outcome({ timeout: "10s" })).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(2);
    });

    test("closing aborts each that does not end within the grace, and waits for what the others come to", async () => {
      const bench = new Bench(make);
      const ended: string[] = [];
      const held = gate();
      const saga = bench.saga([
        all(
          bench.step("S1", {
            run: async (_, { signal }) => {
              const { reason } = await aborted(signal);
              ended.push(`S1 ${reason}`);
              held.open();
              throw new Error(reason);
            },
          }),
          bench.step("S2", { run: () => held.promise.then(() => void ended.push("S2 returned")) }),
          bench.step("S3", { run: () => void ended.push("S3 returned") }),
        ),
        bench.step("S4"),
      ]);
      const executor = await bench.executor([saga]);
      await executor.start(saga, {});
      await until("all three run", () => bench.outside.calls.length === 3);
      await executor.close({ grace: 0 });
      expect(ended).toEqual(["S3 returned", "S1 shutdown", "S2 returned"]);
      expect(bench.outside.count("S4")).toBe(0);
    });
  });

  describe("a step for each item", () => {
    const items = (context: any) => context.lines;

    test("each has its own key, in order one after the other; the outputs are a list, undone in reverse", async () => {
      const bench = new Bench(make);
      let running = 0;
      let most = 0;
      const line = bench.step("line", {
        run: async (item: any) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setTimeout(resolve, 5));
          running -= 1;
          return { sku: item.sku };
        },
        undo: (item: any, { output }) => void undone.push([item.sku, output.sku]),
      });
      const undone: unknown[] = [];
      const saga = bench.saga([each({ name: "lines", over: items, step: line }), bench.step("S2", { run: declined })]);
      const input = { lines: [{ sku: "a" }, { sku: "b" }, { sku: "c" }] };
      const { outcome, executor, id } = await bench.run(saga, input);
      expect(outcome.status).toBe("failed");
      expect(most).toBe(1);
      expect(undone).toEqual([
        ["c", "c"],
        ["b", "b"],
        ["a", "a"],
      ]);
      const keys = bench.outside.calls.filter(({ step }) => step === "line").map(({ key }) => key.replace(id, "run"));
      expect(keys.slice(0, 3)).toEqual(["run/lines/0", "run/lines/1", "run/lines/2"]);
      expect(keys.slice(3)).toEqual([2, 1, 0].map((index) => `run/lines/${index}/compensate`));
      const listed = (await entriesOf(executor, id)).filter(({ kind }) => kind === "items_listed");
      expect(listed).toMatchObject([{ count: 3, concurrency: 1 }]);
    });

    test("as many at once as it says; an item that is tried again is tried alone", async () => {
      const bench = new Bench(make);
      let running = 0;
      let most = 0;
      const line = bench.step("line", {
        run: async ({ n }: any) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setTimeout(resolve, 5));
          running -= 1;
          if (n === 3 && bench.outside.calls.length < 8) throw Object.assign(new Error("busy"), { status: 503 });
          return { twice: n * 2 };
        },
      });
      const over = () => [1, 2, 3, 4, 5, 6].map((n) => ({ n }));
      const saga = bench.saga([each({ name: "lines", over, step: line, concurrency: 3 })]);
      const { outcome } = await bench.run(saga);
      expect(outcome).toMatchObject({ output: { lines: [2, 4, 6, 8, 10, 12].map((twice) => ({ twice })) } });
      expect(most).toBe(3);
    });

    test("of an empty list nothing is done, and the list is empty", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([each({ name: "lines", over: () => [], step: bench.step("line") })]);
      expect((await bench.run(saga)).outcome).toMatchObject({ status: "completed", output: { lines: [] } });
      expect(bench.outside.calls).toEqual([]);
    });

    test("the list is asked for once, however often its items are tried again", async () => {
      const bench = new Bench(make);
      let asked = 0;
      const over = () => {
        asked += 1;
        return [asked, asked];
      };
      const line = bench.step("line", {
        run: () => {
          if (bench.outside.count("line") < 3) throw Object.assign(new Error("busy"), { status: 503 });
        },
      });
      const saga = bench.saga([each({ name: "lines", over, step: line })]);
      expect((await bench.run(saga)).outcome.status).toBe("completed");
      expect(asked).toBe(1);
    });
  });

  describe("a step that runs only when", () => {
    const when = (context: any) => context.amount > 100;

    test("its condition holds: the verdict is recorded, a skipped step gives nothing and is not undone", async () => {
      const bench = new Bench(make);
      const check = bench.step("S1", { when, run: () => ({ checked: true }) });
      const saga = bench.saga([check, bench.step("S2", { run: declined })]);
      const small = await bench.run(saga, { amount: 5 });
      expect(bench.outside.order(small.id)).toEqual(["S2", "C2"].slice(0, 1));
      const large = await bench.run(saga, { amount: 500 });
      expect(bench.outside.order(large.id)).toEqual(["S1", "S2", "C1"]);
      const decided = async ({ executor, id }: typeof small) =>
        (await entriesOf(executor, id)).filter(({ kind }) => kind === "condition_decided");
      expect(await decided(small)).toMatchObject([{ holds: false }]);
      expect(await decided(large)).toMatchObject([{ holds: true }]);
    });

    test("a condition that gives no verdict, or throws, fails the step: it did not happen", async () => {
      const bench = new Bench(make);
      const undone: string[] = [];
      const undo = () => void undone.push("S1");
      const saga = bench.saga([bench.step("S1", { when: () => "yes", undo })]);
      const { outcome } = await bench.run(saga);
      expect([outcome.status, errorOf(outcome).cause.code, undone]).toEqual(["failed", "element.invalid", []]);
    });
  });
}
