import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { TerminalError } from "../../../src/errors/step-errors.js";
import { UsageError } from "../../../src/errors/usage-errors.js";
import type { OpenTransaction, Transactions } from "../../../src/executor/transactions.js";
import { MemoryJournal } from "../../../src/journal/memory-journal.js";
import { type Bench, never } from "../../conformance/executor/bench.js";
import { until } from "../../support/until.js";
import { asked, bench, taken, takenOver } from "./driven.js";

type Commit = OpenTransaction["commit"];

/** Transactions of a journal in memory. Each `commit` can be replaced, to go wrong as a database would. */
function transactions(journal: () => MemoryJournal) {
  const told: string[] = [];
  const state = { commits: [] as Commit[], broken: false, began: async () => {} };
  const really: Commit = async (offer, again) => {
    for (let next: typeof offer | undefined = offer; ; ) {
      const result = await MemoryJournal.prototype.append.call(journal(), next);
      if (result.kind === "appended") return { kind: "committed", row: result.row };
      next = again(await journal().rowsAfter(offer.header, next.number - 1));
      if (next === undefined) return { kind: "void" };
    }
  };
  const all: Transactions = {
    begin: async ({ idleMs }) => {
      told.push(`begin ${idleMs}`);
      await state.began();
      return {
        tx: { query: async () => ({ rows: [], rowCount: 0 }) },
        commit: async (...args) => {
          const end = await (state.commits.shift() ?? really)(...args);
          told.push(end.kind);
          return end;
        },
        rollback: async () => void told.push("rollback"),
        abandon: () => void told.push("abandon"),
        get broken() {
          return state.broken;
        },
      };
    },
  };
  return { all, told, state, really };
}

/** A run whose first step is transactional, about to be driven. */
async function about(the: Bench, step: Record<string, unknown> = {}, more: Parameters<Bench["saga"]>[0] = []) {
  const saga = the.saga([the.step("S1", { transaction: true, timeout: 900, grace: 100, ...step }), ...more]);
  const tx = transactions(() => run.journal);
  const run = await taken(saga, { transactions: tx.all });
  return { ...run, ...tx };
}

const failures = async (run: { kinds: () => Promise<string[]>; journal: MemoryJournal; header: any }) =>
  (await run.journal.allRows(run.header))
    .flatMap(({ entries }) => entries)
    .filter(({ kind }) => kind === "attempt_failed") as any[];

const resolved: Entry = { kind: "cancel_refused", by: "somebody", pivot: "P" };

describe("an attempt of a transactional step", () => {
  test("commits its entry with its work; the body has a transaction", async () => {
    const the = bench();
    const { drive, kinds, told } = await about(the, {
      run: (_: unknown, { tx }: any) => tx.query("select 1").then(() => ({ a: 1 })),
    });
    expect((await drive().end).state.finished?.status).toBe("completed");
    expect(await kinds()).toEqual(["taken_up", "step_completed", "finished"]);
    expect(told).toEqual(["begin 1000", "committed"]);
  });

  test("a number that a bystander took is taken again, inside the transaction", async () => {
    const the = bench();
    const { drive, kinds, told, state, really, write } = await about(the);
    state.commits.push(async (...args) => {
      await write(resolved);
      return really(...args);
    });
    expect((await drive().end).state.finished?.status).toBe("completed");
    expect(await kinds()).toEqual(["taken_up", "cancel_refused", "step_completed", "finished"]);
    expect([told, the.outside.count("S1")]).toEqual([["begin 1000", "committed"], 1]);
  });

  test("an ask before the commit: its outcome is void, no attempt is counted, and the run is cancelled", async () => {
    const the = bench();
    const { drive, kinds, told, state, really, write } = await about(the);
    state.commits.push(async (...args) => {
      await write(asked);
      return really(...args);
    });
    expect((await drive().end).state.finished?.status).toBe("cancelled");
    expect(await kinds()).toEqual(["taken_up", "cancel_requested", "rollback_started", "finished"]);
    expect(told).toEqual(["begin 1000", "void"]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("an ask that was heard of while it ran is found before the commit, too", async () => {
    const the = bench();
    const body = (_: unknown, { signal }: any) =>
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    const { drive, told, write } = await about(the, { run: body });
    const driven = drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    await write(asked);
    driven.poke();
    expect((await driven.end).state.finished?.status).toBe("cancelled");
    expect(told).toEqual(["begin 1000", "rollback"]);
  });

  test("another owner before the commit: void, and nothing more is written", async () => {
    const the = bench();
    const { drive, kinds, told, state, really, write } = await about(the);
    state.commits.push(async (...args) => {
      await write(takenOver);
      return really(...args);
    });
    expect((await drive().end).kind).toBe("lost");
    expect(await kinds()).toEqual(["taken_up", "taken_up"]);
    expect(told).toEqual(["begin 1000", "void"]);
  });

  test("a failure is never in doubt: its transaction was undone, whatever its error says", async () => {
    const the = bench();
    const run = await about(the, {
      retry: { firstDelay: 1 },
      run: () => {
        if (the.outside.count("S1") === 1) throw new Error("connection lost");
        throw new TerminalError("no");
      },
    });
    const driven = run.drive();
    await until("it has failed once", async () => (await failures(run)).length === 1);
    await run.clock.pass(1);
    expect((await driven.end).state.finished?.status).toBe("failed");
    expect((await failures(run))[0]).toMatchObject({ counted: true, doubt: false });
    expect(run.told).toEqual(["begin 1000", "rollback", "begin 1000", "rollback"]);
    expect(the.outside.order()).toEqual(["S1", "S1"]);
  });

  test("what the database says at the end is the step's own failure", async () => {
    const the = bench();
    const run = await about(the, { retry: { maxAttempts: 1 } });
    run.state.commits.push(async () => {
      throw Object.assign(new Error("deferred constraint"), { code: "23503" });
    });
    const { finished, failure } = (await run.drive().end).state;
    expect(finished?.status).toBe("failed");
    expect(failure?.error.message).toBe("deferred constraint");
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("a body that ended the transaction by itself is not called again", async () => {
    const the = bench();
    const run = await about(the);
    run.state.commits.push(async () => {
      throw new UsageError("transaction.ended_by_step", "the step ended its transaction");
    });
    const { finished, failure } = (await run.drive().end).state;
    expect([finished?.status, failure?.error.code]).toEqual(["failed", "transaction.ended_by_step"]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("a connection that was lost voids it: no attempt is counted, and it is tried again", async () => {
    const the = bench();
    const run = await about(the, {
      run: () => {
        if (the.outside.count("S1") > 1) return { second: true };
        run.state.broken = true;
        throw new Error("terminating connection due to administrator command");
      },
    });
    run.state.began = async () => {
      run.state.broken = false;
    };
    expect((await run.drive().end).state.finished?.status).toBe("completed");
    expect(await failures(run)).toEqual([]);
    expect(run.warnings).toMatchObject([{ runId: "r1", step: "S1" }]);
    expect(the.outside.count("S1")).toBe(2);
  });

  test("a commit that did not take place is void as well", async () => {
    const the = bench();
    const run = await about(the);
    run.state.commits.push(async () => ({ kind: "undone" }));
    expect((await run.drive().end).state.finished?.status).toBe("completed");
    expect(await failures(run)).toEqual([]);
    expect([run.told, the.outside.count("S1")]).toEqual([["begin 1000", "undone", "begin 1000", "committed"], 2]);
  });

  test("a body that outlives its grace loses its connection", async () => {
    const the = bench();
    const run = await about(the, { retry: { maxAttempts: 1 }, run: never });
    const driven = run.drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    await run.clock.pass(1_000);
    expect((await driven.end).state.finished?.status).toBe("failed");
    expect(run.told).toEqual(["begin 1000", "abandon"]);
    expect(the.outside.order()).toEqual(["S1"]);
  });

  test("a worker that stops gives the run back: what was undone is neither in doubt nor handed over", async () => {
    const the = bench();
    const run = await about(the, { run: never });
    const driven = run.drive();
    await until("S1 runs", () => the.outside.count("S1") === 1);
    run.stop();
    driven.abort("shutdown");
    await run.clock.pass(100);
    expect((await driven.end).state.steps.S1).toMatchObject({ doubt: false, forward: { attempts: 0 } });
    expect(await run.kinds()).toEqual(["taken_up", "attempt_failed", "parked"]);
    expect(run.told).toEqual(["begin 1000", "abandon"]);
  });

  test("a worker that stops, or an ask, while a connection is waited for: no body is begun", async () => {
    for (const meanwhile of ["stop", "ask"] as const) {
      const the = bench();
      const run = await about(the);
      run.state.began = async () => {
        if (meanwhile === "stop") return run.stop();
        await run.write(asked);
        driven.poke();
      };
      const driven = run.drive();
      const { finished } = (await driven.end).state;
      expect([the.outside.count("S1"), run.told, finished?.status]).toEqual([
        0,
        ["begin 1000", "rollback"],
        meanwhile === "stop" ? undefined : "cancelled",
      ]);
    }
  });

  test("a compensation works the same way", async () => {
    const the = bench();
    const run = await about(the, {}, [
      the.step("S2", {
        run: () => {
          throw new TerminalError("no");
        },
      }),
    ]);
    expect((await run.drive().end).state.finished?.status).toBe("failed");
    expect(await run.kinds()).toEqual([
      "taken_up",
      "step_completed",
      "step_failed",
      "rollback_started",
      "step_compensated",
      "finished",
    ]);
    expect(run.told).toEqual(["begin 1000", "committed", "begin 1000", "committed"]);
    expect(the.outside.order()).toEqual(["S1", "S2", "C1"]);
  });

  test("a transactional pivot is entered in the row of its own completion", async () => {
    const the = bench();
    const tx = transactions(() => run.journal);
    const run = await taken(the.saga([the.pivot("P", { transaction: true })]), { transactions: tx.all });
    await run.drive().end;
    expect(await run.kinds()).toEqual(["taken_up", "pivot_entered", "step_completed", "finished"]);
  });
});
