// A SAGA IN A SAGA: a child has a run of its own, started once; its end is its parent's news, and a parent that rolls back takes
// it with it (issue 3; design 1.3).

import { child, TerminalError } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { gate, until } from "../../support/until.js";
import {
  type AnySaga,
  aborted,
  Bench,
  entriesOf,
  errorOf,
  kindsOf,
  type MakeExecutor,
  stop,
  uniqueName,
} from "./bench.js";

const kid = (saga: AnySaga, input: (context: any) => unknown = () => ({})) =>
  (child as any)({ name: "kid", saga, input }) as any;

const declined = () => {
  throw new TerminalError("declined");
};

export function children(make: MakeExecutor): void {
  describe("a child", () => {
    test("runs under an id of its own, with the input that its parent gave; its output is the step's", async () => {
      const bench = new Bench(make);
      const inner = bench.saga([bench.step("S2", { run: ({ n }: any) => ({ twice: n * 2 }) })]);
      const saga = bench.saga([bench.step("S1", { run: () => ({ n: 21 }) }), kid(inner, ({ n }) => ({ n }))]);
      const { outcome, executor, id } = await bench.run(saga);
      expect(outcome).toMatchObject({ status: "completed", output: { n: 21, kid: { twice: 42 } } });
      expect(await executor.get(`${id}/kid`)).toMatchObject({ status: "completed", input: { n: 21 } });
      expect(await kindsOf(executor, id)).toEqual(["step_completed", "child_started", "child_finished", "finished"]);
    });

    test("that fails undoes its own, and fails its parent, which undoes the rest", async () => {
      const bench = new Bench(make);
      const inner = bench.saga([bench.step("S2"), bench.step("S3", { run: declined })]);
      const { outcome, executor, id } = await bench.run(bench.saga([bench.step("S1"), kid(inner)]));
      expect(outcome.status).toBe("failed");
      expect([errorOf(outcome).step, errorOf(outcome).cause.code]).toEqual(["kid", "child.failed"]);
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C2", "C1"]);
      expect((await executor.get(`${id}/kid`))!.status).toBe("failed");
    });

    test("that has completed is undone from its own journal when its parent rolls back, in reverse with the rest", async () => {
      const bench = new Bench(make);
      const inner = bench.saga([bench.step("S2"), bench.step("S3")]);
      const saga = bench.saga([bench.step("S1"), kid(inner), bench.step("S4", { run: declined })]);
      const { outcome, executor, id } = await bench.run(saga);
      expect(outcome.status).toBe("failed");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "S4", "C3", "C2", "C1"]);
      expect((await executor.get(`${id}/kid`))!.status).toBe("cancelled");
      expect(await kindsOf(executor, `${id}/kid`)).toContain("recalled");
    });

    test("that runs is stopped with its parent: the ask goes down the tree", async () => {
      const bench = new Bench(make);
      let reason: any;
      const inmost = bench.saga([
        bench.step("S3", {
          run: async (_, { signal }) => {
            reason = await aborted(signal);
            throw reason;
          },
        }),
      ]);
      const inner = bench.saga([bench.step("S2"), kid(inmost)]);
      const saga = bench.saga([bench.step("S1"), kid(inner)]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("the inmost runs", () => bench.outside.count("S3") === 1);
      expect(await stop(executor, run.id)).toMatchObject({ verdict: "cancelling" });
      expect((await run.outcome({ timeout: "20s" })).status).toBe("cancelled");
      expect(reason.reason).toBe("cancelled");
      expect(bench.outside.order()).toEqual(["S1", "S2", "S3", "C3", "C2", "C1"]);
      for (const id of [`${run.id}/kid`, `${run.id}/kid/kid`])
        expect((await executor.get(id))!.status).toBe("cancelled");
    });

    test("that can't be undone is owed by its parent too: no clean word covers it", async () => {
      const bench = new Bench(make);
      let works = false;
      const undo = () => (works ? undefined : declined());
      const inner = bench.saga([bench.step("S2", { undo })]);
      const saga = bench.saga([bench.step("S1"), kid(inner), bench.step("S3", { run: declined })]);
      const { outcome, executor, id } = await bench.run(saga);
      expect(outcome.status).toBe("compensation_failed");
      expect(errorOf(outcome).owed).toEqual(["kid"]);
      works = true;
      await executor.retry(`${id}/kid`, { by: "ana" });
      await (await executor.find(`${id}/kid`))!.outcome({ timeout: "10s" });
      await executor.retry(id, { by: "ana" });
      expect((await (await executor.find(id))!.outcome({ timeout: "10s" })).status).toBe("failed");
    });

    test("after its parent's pivot it may have a pivot of its own; failed, it is run anew when its parent is retried", async () => {
      const bench = new Bench(make);
      const inner = bench.saga([
        bench.step("S2", { run: () => (bench.outside.count("S2") === 1 ? declined() : undefined) }),
        bench.pivot("P2"),
      ]);
      const saga = bench.saga([bench.pivot("P1"), kid(inner)]);
      const { outcome, executor, id } = await bench.run(saga);
      expect(outcome.status).toBe("forward_incomplete");
      await executor.retry(id, { by: "ana" });
      expect((await (await executor.find(id))!.outcome({ timeout: "10s" })).status).toBe("completed");
      expect((await executor.get(`${id}/kid`))!.status).toBe("failed");
      expect((await executor.get(`${id}/kid~2`))!.status).toBe("completed");
    });

    test("IDM-1: whose id another run has is none: the parent fails, and does not wait for a run that will not tell it", async () => {
      const bench = new Bench(make);
      const held = gate();
      const inner = bench.saga([bench.step("S2", { run: () => held.promise })]);
      const saga = bench.saga([bench.step("S1"), kid(inner)]);
      const executor = await bench.executor([saga, inner]);
      const id = uniqueName("parent");
      const stranger = await executor.start(inner, {}, { id: `${id}/kid` });
      const run = await executor.start(saga, {}, { id });
      const outcome = await run.outcome({ timeout: "10s" });
      expect([outcome.status, errorOf(outcome).cause.cause.code]).toEqual(["failed", "run.conflict"]);
      expect(bench.outside.order(id)).toEqual(["S1", "C1"]);
      held.open();
      expect((await stranger.outcome({ timeout: "10s" })).status).toBe("completed");
    });

    test("leaves its parent waiting, in no slot, for as long as it takes", async () => {
      const bench = new Bench(make);
      const held = gate();
      const inner = bench.saga([bench.step("S1", { run: () => held.promise })]);
      const saga = bench.saga([kid(inner)]);
      const executor = await bench.executor([saga]);
      const run = await executor.start(saga, {});
      await until("the parent waits", async () => (await executor.get(run.id))!.status === "waiting");
      expect((await executor.get(run.id))!.waiting).toBe(`for its child "${run.id}/kid"`);
      held.open();
      expect((await run.outcome({ timeout: "10s" })).status).toBe("completed");
      const started = (await entriesOf(executor, run.id)).filter(({ kind }) => kind === "child_started");
      expect(started).toHaveLength(1);
    });

    test("whose place can't be told fails its step: there is no child, and nothing of it to undo", async () => {
      const bench = new Bench(make);
      const concurrency = { limit: 1, key: () => declined() };
      const inner = bench.saga([bench.step("S2")], { concurrency });
      const { outcome, executor, id } = await bench.run(bench.saga([bench.step("S1"), kid(inner)]));
      expect([outcome.status, bench.outside.order()]).toEqual(["failed", ["S1", "C1"]]);
      expect(errorOf(outcome).cause.cause.code).toBe("input.invalid");
      expect(await executor.get(`${id}/kid`)).toBeUndefined();
    });
  });
}
