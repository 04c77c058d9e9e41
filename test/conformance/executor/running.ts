// HOW A SAGA RUNS FORWARD: its order, its context, its keys, its output.

import { bulkhead, ConsecutiveBreaker, circuitBreaker, handleAll } from "cockatiel";
import { defineSaga, named, pivot, step, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gate, until } from "../../support/until.js";
import { Bench, entriesOf, errorOf, kindsOf, type MakeExecutor, uniqueName } from "./bench.js";

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

    test("an open circuit breaker uses up no attempt, and the step goes on when it closes", async () => {
      const bench = new Bench(make);
      const policy = circuitBreaker(handleAll, { halfOpenAfter: 60_000, breaker: new ConsecutiveBreaker(2) });
      const saga = bench.saga([
        bench.step("S1", {
          policy,
          retry: { maxAttempts: 3, firstDelay: 5, factor: 1 },
          run: (_, { attempt }) => {
            if (attempt < 3) throw Object.assign(new Error("down"), { status: 503 });
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      const failures = async () =>
        (await entriesOf(executor, run.id)).filter((entry) => entry.kind === "attempt_failed");
      await until("attempts were refused", async () => (await failures()).length > 4);
      expect(bench.outside.count("S1")).toBe(2);
      expect(
        (await failures()).map(({ counted, attempts, error }) => [counted, attempts, error.code]).slice(1, 4),
      ).toEqual([
        [true, 2, undefined],
        [false, 2, "step.never_called"],
        [false, 2, "step.never_called"],
      ]);
      // Isolated and released again, a circuit is closed.
      policy.isolate().dispose();
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(3);
    });

    test("a bulkhead lets through what it lets through; what it refuses was never called and is tried again", async () => {
      const bench = new Bench(make);
      let [now, most] = [0, 0];
      const policy = bulkhead(2, 1);
      const saga = bench.saga([
        bench.step("S1", {
          policy,
          retry: { maxAttempts: 1, firstDelay: 2, factor: 1 },
          run: async () => {
            now += 1;
            most = Math.max(most, now);
            await new Promise((resolve) => setTimeout(resolve, 5));
            now -= 1;
          },
        }),
      ]);
      const executor = await bench.executor([saga]);
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, async () => (await executor.start(saga, {})).outcome({ timeout: "20s" })),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => "completed"));
      expect(most).toBe(2);
      expect(bench.outside.count("S1")).toBe(8);
    });

    test("what queues up in a bulkhead until its timeout was never called, and is not called later", async () => {
      const bench = new Bench(make);
      const policy = bulkhead(1, 10);
      const hold = gate();
      const saga = bench.saga([
        bench.step("S1", {
          policy,
          timeout: 20,
          grace: 0,
          retry: { maxAttempts: 1, firstDelay: 5, maxDelay: 20 },
          run: () => undefined,
        }),
      ]);
      const busy = policy.execute(() => hold.promise);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until(
        "it was refused twice",
        async () => (await entriesOf(executor, run.id)).filter((entry) => entry.kind === "attempt_failed").length >= 2,
      );
      expect(bench.outside.count("S1")).toBe(0);
      hold.open();
      await busy;
      expect((await run.outcome()).status).toBe("completed");
      expect(bench.outside.count("S1")).toBe(1);
    });
  });
}
