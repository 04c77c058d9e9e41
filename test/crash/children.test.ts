// Workers that die between a parent and its child: real processes, real SIGKILL. A child is started once, and its parent is
// always woken.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CrashBench } from "../support/crash-bench.js";
import { gate, until } from "../support/until.js";
import { sagas } from "./waiting-sagas.js";

const open = () => CrashBench.with({ file: "crash/waiting-sagas.ts", sagas });
let bench: Awaited<ReturnType<typeof open>>;

beforeEach(async () => {
  bench = await open();
});

afterEach(() => bench[Symbol.asyncDispose]());

const kinds = async (runId: string) => (await bench.client.history(runId)).map(({ entry }) => entry.kind);
const count = async (runId: string, kind: string) => (await kinds(runId)).filter((each) => each === kind).length;
const rowOf = async (runId: string) =>
  (
    await bench.database.query(
      "select id::text, state, child_ended, due_at <= clock_timestamp() as due, parent::text from rubicon.runs where run_id = $1",
      [runId],
    )
  )[0];

/** Resolves when a backend waits for a lock in the middle of such a statement. */
const stuckIn = (statement: string) =>
  until(`something waits in ${statement}`, async () => {
    const waiting = await bench.database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1",
      [`%${statement}%`],
    );
    return waiting.length > 0;
  });

/** Ends what the dead process's backends are in the middle of, as if it had never reached the server. */
const cutWaiting = () =>
  bench.database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );

describe("a worker that dies", () => {
  test("JRN-7: between `child_started` and the child's first row: the child of that very id is started, once", async () => {
    const lock = await bench.database.connect();
    bench.outside.behave = async (call) => {
      if (call.step !== "S1" || call.direction !== "forward") return;
      await lock.query("begin");
      await lock.query("lock table rubicon.runs in share mode");
    };
    const killed = await bench.worker();
    const run = await bench.client.start(bench.saga("parent"), undefined);
    await stuckIn('insert into "rubicon".runs');
    await killed.kill();
    await cutWaiting();
    expect(await count(run.id, "child_started")).toBe(1);
    expect(await rowOf(`${run.id}/kid`)).toBeUndefined();
    bench.outside.behave = () => {};
    await lock.query("commit");
    await bench.workers(2);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(await count(run.id, "child_started")).toBe(1);
    expect(await rowOf(`${run.id}/kid`)).toMatchObject({ state: 3, parent: (await rowOf(run.id))!.id });
    expect(bench.outside.calls.map(({ step }) => step)).toEqual(["S1", "K1", "K2", "S2"]);
    // Nothing of the parent was under way: its step can't be in doubt.
    expect(await count(run.id, "attempt_failed")).toBe(0);
  });

  test("JRN-7: between its child's end and the parent's waking: the parent is due since that very statement", async () => {
    // Who takes the parent up again is held.
    const lock = await bench.database.connect();
    await lock.query("begin");
    await lock.query("select pg_advisory_xact_lock(4711)");
    await bench.database.query(`
      create function public.hold() returns trigger language plpgsql as $$ begin
        if new.kind = 'taken_up' and new.number > 1 and exists (select 1 from rubicon.runs where id = new.run and saga = 'parent')
        then perform pg_advisory_xact_lock(4711); end if;
        return new;
      end $$;
      create trigger hold before insert on rubicon.journal for each row execute function public.hold();`);
    const killed = await bench.worker();
    const run = await bench.client.start(bench.saga("parent"), undefined);
    await until("the child has ended", async () => (await rowOf(`${run.id}/kid`))?.state === 3);
    await killed.kill();
    await cutWaiting();
    expect(await rowOf(run.id)).toMatchObject({ state: 0, child_ended: true, due: true });
    expect(await count(run.id, "child_finished")).toBe(0);
    await lock.query("commit");
    await bench.worker();
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.calls.map(({ step }) => step)).toEqual(["S1", "K1", "K2", "S2"]);
    expect(await count(run.id, "child_finished")).toBe(1);
  });

  test("JRN-1: in the child's step: the child is taken over, the parent waits, and both complete", async () => {
    bench.outside.behave = async (call, earlier) => {
      if (call.step === "K2" && !earlier.some(({ step }) => step === "K2")) await bench.byPid(call.pid).kill();
    };
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("parent"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("completed");
    expect(bench.outside.calls.map(({ step, key }) => [step, key])).toEqual([
      ["S1", `${run.id}/S1`],
      ["K1", `${run.id}/kid/K1`],
      ["K2", `${run.id}/kid/K2`],
      ["K2", `${run.id}/kid/K2`],
      ["S2", `${run.id}/S2`],
    ]);
    expect((await kinds(run.id)).slice(-3)).toEqual(["child_finished", "step_completed", "finished"]);
  });

  test("CMP-1: in the middle of undoing its child: the child goes on undoing itself, then the parent, each once", async () => {
    bench.outside.behave = async (call, earlier) => {
      if (call.step === "S2") return { status: 422, body: "no" };
      if (call.step === "K2" && call.direction === "compensate" && !earlier.some(({ key }) => key === call.key))
        await bench.byPid(call.pid).kill();
      return undefined;
    };
    await bench.workers(2);
    const run = await bench.client.start(bench.saga("parent"), undefined);
    expect((await run.outcome({ timeout: "30s" })).status).toBe("failed");
    const order = bench.outside.calls.map(({ step, direction }) => (direction === "forward" ? step : `undo ${step}`));
    expect(order).toEqual(["S1", "K1", "K2", "S2", "undo K2", "undo K2", "undo K1", "undo S1"]);
    expect(await count(`${run.id}/kid`, "recalled")).toBe(1);
  });

  test("PSN-1: twice while it asks its child to undo itself: the parent is woken by the child's end all the same", async () => {
    let undoing = false;
    const mayEnd = gate();
    const lock = await bench.database.connect();
    bench.outside.behave = async (call, earlier) => {
      if (call.step === "S2") {
        if (!earlier.some(({ step }) => step === "S2")) {
          // From here on nobody gets at the child's row.
          await lock.query("begin");
          await lock.query("select 1 from rubicon.runs where saga = 'kid' for update");
        }
        return { status: 422, body: "no" };
      }
      if (call.step === "K1" && call.direction === "compensate") {
        undoing = true;
        await mayEnd.promise;
      }
      return undefined;
    };
    const run = await bench.client.start(bench.saga("parent"), undefined);
    for (const crashes of [0, 1]) {
      const worker = await bench.worker();
      await until("the parent turned back", async () => (await count(run.id, "rollback_started")) === 1);
      await until("it was taken over", async () => (await count(run.id, "taken_up")) > crashes);
      await stuckIn('"rubicon".runs');
      await worker.kill();
    }
    await lock.query("rollback");
    await bench.workers(2);
    await until("the child undoes itself", () => undoing);
    await until("the parent is parked until the child ends", async () => {
      const [row] = await bench.database.query(
        "select 1 from rubicon.runs where saga = 'parent' and state = 1 and due_at > clock_timestamp() + interval '1 day'",
      );
      return row !== undefined;
    });
    mayEnd.open();
    expect((await run.outcome({ timeout: "15s" })).status).toBe("failed");
  });
});
