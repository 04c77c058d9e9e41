// HOW A SAGA RUNS FORWARD: its order, its contexts, its keys, what its bodies are given.

import { defineSaga, named, pivot, step, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gate, until } from "../../support/until.js";
import { Bench, entriesOf, kindsOf, type MakeExecutor, uniqueName } from "./bench.js";

export function running(make: MakeExecutor): void {
  describe("running forward", () => {
    test("steps run in the order of the list, each once, and the outputs come merged", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { run: () => ({ a: 1 }) }),
        bench.pivot("P", { run: () => ({ b: 2 }) }),
        bench.forward("S3", { run: () => ({ c: 3 }) }),
      ]);
      const { outcome, executor, id } = await bench.run(saga, { from: "input" });
      expect(outcome).toEqual({ status: "completed", output: { a: 1, b: 2, c: 3 } });
      expect(bench.outside.order()).toEqual(["S1", "P", "S3"]);
      expect(await kindsOf(executor, id)).toEqual([
        "step_completed",
        "pivot_entered",
        "step_completed",
        "step_completed",
        "finished",
      ]);
    });

    test("what belongs together travels in one row: the completion before the pivot with its entry, the last step with the end", async () => {
      const bench = new Bench(make);
      const { executor, id } = await bench.run(bench.saga([bench.step("S1"), bench.pivot("P"), bench.forward("S3")]));
      const rows = new Map<number, string[]>();
      for (const { number, entry } of await executor.history(id))
        rows.set(number, [...(rows.get(number) ?? []), entry.kind]);
      expect([...rows.values()].slice(1)).toEqual([
        ["step_completed", "pivot_entered"],
        ["step_completed"],
        ["step_completed", "finished"],
      ]);
      expect([...rows.keys()]).toEqual([1, 2, 3, 4]);
    });

    test("a pivot that is the first step is entered before its body is called", async () => {
      const bench = new Bench(make);
      const pivotFirst = bench.saga([
        bench.pivot("P", {
          run: (_, { runId }) =>
            entriesOf(executor, runId).then((entries) => ({ entries: entries.map(({ kind }) => kind) })),
        }),
      ]);
      const executor = await bench.executor([pivotFirst]);
      const { entries } = await executor.execute(pivotFirst, {});
      expect(entries).toContain("pivot_entered");
    });

    test("the context of a step is the input and the outputs before it", async () => {
      const bench = new Bench(make);
      const seen: unknown[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: (context) => ({ a: seen.push(context) }) }),
        bench.step("S2", { run: (context) => ({ b: seen.push(context) }) }),
        bench.step("S3", { run: (context) => void seen.push(context) }),
      ]);
      await bench.run(saga, { sku: "x" });
      expect(seen).toEqual([{ sku: "x" }, { sku: "x", a: 1 }, { sku: "x", a: 1, b: 2 }]);
    });

    test("typed by the saga: inputs, contexts, outputs", async () => {
      const saga = defineSaga({
        name: uniqueName("typed"),
        version: 1,
        input: z.object({ amount: z.number() }),
        steps: [
          step({
            name: "double",
            run: async ({ amount }: { amount: number }) => ({ doubled: amount * 2 }),
            compensate: async () => {},
          }),
          pivot({ name: "text", run: async ({ doubled }: { doubled: number }) => ({ text: String(doubled) }) }),
        ],
        output: ({ text, doubled }) => ({ text, half: doubled / 2 }),
      });
      const executor = await new Bench(make).executor([saga]);
      const output: { text: string; half: number } = await executor.execute(saga, { amount: 4 });
      expect(output).toEqual({ text: "8", half: 4 });
    });

    test("what a later step gets is the decoded entry, never the object that the step returned", async () => {
      const bench = new Bench(make);
      const returned = { list: [1], at: new Date(0) };
      const got: any[] = [];
      const saga = bench.saga([
        bench.step("S1", { run: () => returned, undo: (context, { output }) => void got.push(context, output) }),
        bench.step("S2", {
          run: (context) => {
            got.push(context);
            returned.list.push(2);
            context.list.push("changed by S2");
            context.more = true;
          },
        }),
        bench.step("S3", {
          run: (context) => {
            got.push(structuredClone(context));
            throw new TerminalError("no");
          },
        }),
      ]);
      await bench.run(saga);
      expect(got[0]).not.toBe(returned);
      expect(got.slice(1)).toEqual([
        { list: [1], at: new Date(0) },
        { list: [1], at: new Date(0) },
        { list: [1], at: new Date(0) },
      ]);
    });

    test("the idempotency key is runId/step and stays over attempts; attempts count from 1", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", {
          run: (_, { attempt }) => {
            if (attempt < 3) throw new Error("again");
          },
        }),
      ]);
      const { id } = await bench.run(saga);
      expect(bench.outside.calls.map(({ key, attempt, runId }) => ({ key, attempt, runId }))).toEqual(
        [1, 2, 3].map((attempt) => ({ key: `${id}/S1`, attempt, runId: id })),
      );
    });

    test("two runs of one saga do not share anything", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: ({ n }) => ({ twice: n * 2 }) })]);
      const executor = await bench.executor([saga]);
      const outputs = await Promise.all([1, 2, 3, 4].map((n) => executor.execute(saga, { n })));
      expect(outputs).toEqual([2, 4, 6, 8].map((twice) => ({ twice })));
      expect(new Set(bench.outside.calls.map((call) => call.key)).size).toBe(4);
    });

    test("named: a step is used twice, its output under a key of its own", async () => {
      const bench = new Bench(make);
      const mail = step({
        name: "mail",
        run: async ({ to }: { to: string }, { key }) => ({ sent: `${key.split("/").at(-1)} to ${to}` }),
        nothingToUndo: true,
      });
      const saga = defineSaga({
        name: uniqueName("named"),
        version: 1,
        input: z.object({ to: z.string() }),
        steps: [mail, named(mail, "billing-mail", { into: "billing" })],
      });
      const executor = await bench.executor([saga]);
      expect(await executor.execute(saga, { to: "bo" })).toEqual({
        sent: "mail to bo",
        billing: { sent: "billing-mail to bo" },
      });
    });

    test("note: progress is shown while the attempt lasts, and nobody else's", async () => {
      const bench = new Bench(make);
      const [hold, done] = [gate(), gate()];
      let late: (value: unknown) => void = () => {};
      const saga = bench.saga([
        bench.step("S1", {
          run: async (_, { note }) => {
            note({ percent: 40 });
            late = note;
            await hold.promise;
          },
        }),
        bench.step("S2", { run: () => done.promise }),
      ]);
      const executor = await bench.executor([saga]);
      const { id } = await executor.start(saga, {});
      await until("it notes", async () => (await executor.get(id))?.note !== undefined);
      expect((await executor.get(id))?.note).toEqual({ percent: 40 });
      hold.open();
      await until("S2 runs", () => bench.outside.count("S2") === 1);
      late("of the past");
      expect((await executor.get(id))?.note).toBeUndefined();
      done.open();
    });

    test("log: a body's lines carry run, step and attempt, and a logger that throws harms nobody", async () => {
      const bench = new Bench(make);
      const lines: any[] = [];
      const write = (fields: object, message?: string) => {
        lines.push({ ...fields, message });
        throw new Error("the disk is full");
      };
      const logger = { debug: write, info: write, warn: write, error: write };
      const saga = bench.saga([bench.step("S1", { run: (_, { log }) => log.info({ sku: "x" }, "reserved") })]);
      const { id, outcome } = await bench.run(saga, {}, { logger });
      expect(outcome.status).toBe("completed");
      expect(lines).toContainEqual({ runId: id, step: "S1", attempt: 1, sku: "x", message: "reserved" });
    });
  });
}
