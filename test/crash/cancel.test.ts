// Stop, asked for from anywhere: by other processes, with no worker at all, while a body does not listen (design 1.7).

import { afterEach, beforeEach, expect, test } from "vitest";
import { briskWorker } from "../support/crash-bench.js";
import { ToldBench } from "../support/told-bench.js";
import { gate, until } from "../support/until.js";

let bench: ToldBench;

beforeEach(async () => {
  bench = await ToldBench.open();
});

afterEach(() => bench[Symbol.asyncDispose]());

test("CXL-6: a delayed run that is cancelled while no worker runs has ended there and then, and never begins", async () => {
  const startAt = new Date(Date.now() + 3_600_000);
  const run = await bench.client.start(bench.saga("told"), undefined as never, { id: "later", startAt });
  expect(await bench.client.requestCancel(run.id, { by: "ana" })).toMatchObject({ verdict: "cancelled" });
  expect(await bench.client.get(run.id)).toMatchObject({ status: "cancelled" });
  // The hour passes.
  await bench.database.query(
    "update rubicon.runs set due_at = due_at - interval '2 hours', start_at = start_at - interval '2 hours', rank = rank - interval '2 hours'",
  );
  await bench.here();
  const witness = await bench.start("told");
  expect((await witness.outcome({ timeout: "20s" })).status).toBe("completed");
  expect(bench.outside.order(run.id)).toEqual([]);
  const kinds = (await bench.client.history(run.id)).map(({ entry }) => entry.kind);
  expect(kinds).toEqual(["cancel_requested", "finished"]);
  const again = await bench.client.start(bench.saga("told"), undefined as never, { id: "later" });
  expect(again.created).toBe(false);
  expect((await again.outcome()).status).toBe("cancelled");
});

test("CXL-8: a body in another process hears of it within a notification or a beat, by a typed reason", async () => {
  bench.tell("S1", { loops: 100 });
  // Not by polling: what tells it is the notification.
  await bench.worker({ worker: { ...briskWorker, poll: 20_000 } });
  const run = await bench.start("told");
  await until("it has begun", () => bench.outside.count("S1") === 1);
  await new Promise((resolve) => setTimeout(resolve, 250));
  const answer = await bench.client.requestCancel(run.id, { by: "ana" });
  expect(answer.verdict).toBe("cancelling");
  expect((await run.outcome({ timeout: "20s" })).status).toBe("cancelled");
  const [aborted] = bench.seen("S1-aborted") as { count: number; reason: string }[];
  expect(aborted!.reason).toBe("cancelled");
  expect(aborted!.count).toBeLessThan(40);
  expect(bench.outside.order(run.id)).toEqual(["S1", "S1-aborted", "C1"]);
  expect(bench.seen("S1", "compensate")).toEqual([{ outcome: "in_doubt" }]);
  const failed = (await bench.client.history(run.id))
    .map(({ entry }) => entry)
    .find((e) => e.kind === "attempt_failed");
  expect(failed).toMatchObject({ counted: false, attempts: 0 });
});

test("CXL-8: with no notification it is the answer to the next beat that tells", async () => {
  bench.tell("S1", { loops: 100 });
  await bench.worker({ worker: { ...briskWorker, poll: 100 }, listen: false });
  const run = await bench.start("told");
  await until("it has begun", () => bench.outside.count("S1") === 1);
  expect((await bench.client.requestCancel(run.id, { by: "ana" })).verdict).toBe("cancelling");
  expect((await run.outcome({ timeout: "20s" })).status).toBe("cancelled");
  expect((bench.seen("S1-aborted") as { count: number }[])[0]!.count).toBeLessThan(40);
});

test("CXL-9: a body that never settles leaves its slot after its grace, is named, and the next run completes", async () => {
  bench.outside.behave = async (call) => {
    if (call.runId === "stuck" && call.direction === "forward") await stuck.promise;
  };
  const stuck = gate();
  // The case has one slot; a worker with as many abandoned bodies as slots claims no more (1.6), so here there are two.
  const worker = await bench.here({ worker: { ...briskWorker, slots: 2 } });
  const first = await bench.client.start(bench.saga("no-grace"), undefined as never, { id: "stuck" });
  await until("it is stuck", () => bench.outside.count("S1") === 1);
  const second = await bench.start("no-grace");
  const third = await bench.start("no-grace");
  expect((await bench.client.requestCancel("stuck", { by: "ana" })).verdict).toBe("cancelling");
  expect((await first.outcome({ timeout: "20s" })).status).toBe("cancelled");
  for (const run of [second, third]) expect((await run.outcome({ timeout: "20s" })).status).toBe("completed");
  expect(worker.health!.abandoned).toEqual([{ runId: "stuck", step: "S1" }]);
  const named = bench.lines.find(({ message }) => message.includes("abandoned"));
  expect(named).toMatchObject({ level: "warn", fields: { runId: "stuck", step: "S1" } });
  stuck.open();
  await until("it is over", () => worker.health!.abandoned.length === 0);
  expect((await bench.client.history("stuck")).some(({ entry }) => entry.kind === "step_completed")).toBe(false);
});

test("CXL-9: as many abandoned bodies as slots: no more is claimed until one is over", async () => {
  const stuck = gate();
  bench.outside.behave = async (call) => {
    if (call.runId === "stuck" && call.direction === "forward") await stuck.promise;
  };
  const worker = await bench.here({ worker: { ...briskWorker, slots: 1 } });
  const first = await bench.client.start(bench.saga("no-grace"), undefined as never, { id: "stuck" });
  await until("it is stuck", () => bench.outside.count("S1") === 1);
  await bench.client.requestCancel("stuck", { by: "ana" });
  expect((await first.outcome({ timeout: "20s" })).status).toBe("cancelled");
  const second = await bench.start("no-grace");
  await until("some looks for work have passed", ticks(worker, "claim", 3));
  expect(worker.health).toMatchObject({ slots: { used: 0, free: 0 } });
  expect(bench.outside.order(second.id)).toEqual([]);
  stuck.open();
  expect((await second.outcome({ timeout: "20s" })).status).toBe("completed");
});

/** That loop has got through so many turns since. */
function ticks(worker: { readonly health: any }, loop: string, count: number): () => boolean {
  let last = worker.health.ticks[loop]?.getTime();
  let seen = 0;
  return () => {
    const now = worker.health.ticks[loop]?.getTime();
    if (now !== last) seen += 1;
    last = now;
    return seen >= count;
  };
}

test("CXL-11: five processes ask at once: one walk back, one stamp, and each is told", async () => {
  const remotes = await Promise.all(Array.from({ length: 5 }, () => bench.remote()));
  bench.tell("S3", { loops: 200 });
  await bench.worker();
  const run = await bench.start("told-three");
  await until("S3 runs", () => bench.outside.count("S3") === 1);
  const answers = await Promise.all(
    remotes.map((remote, index) => remote.ask({ kind: "cancel", id: run.id, by: `operator-${index}` })),
  );
  for (const answer of answers) expect(answer.verdict).toMatch(/^(cancelling|rolling_back)$/);
  expect(new Set(answers.map(({ requestedAt }) => requestedAt)).size).toBe(1);
  expect((await run.outcome({ timeout: "20s" })).status).toBe("cancelled");
  expect(bench.outside.order(run.id).filter((call) => call.startsWith("C"))).toEqual(["C3", "C2", "C1"]);
  expect(await remotes[0]!.ask({ kind: "cancel", id: run.id, by: "late" })).toMatchObject({ verdict: "finished" });
  const entries = (await bench.client.history(run.id)).map(({ entry }) => entry);
  expect(entries.filter((entry) => entry.kind === "rollback_started")).toHaveLength(1);
});

test("CMP-3: an ask during a long backoff: the retry that was due never comes, and both steps are undone", async () => {
  bench.outside.behave = (call) =>
    call.step === "S2" && call.direction === "forward" ? { status: 503, body: "later" } : undefined;
  await bench.here();
  const run = await bench.start("backing-off");
  await until("S2 is to be tried again later", async () => (await bench.client.get(run.id))?.status === "waiting");
  expect((await bench.client.requestCancel(run.id, { by: "ana" })).verdict).toBe("cancelling");
  expect((await run.outcome({ timeout: "20s" })).status).toBe("cancelled");
  // The hour of the retry comes.
  await new Promise((resolve) => setTimeout(resolve, 3_200));
  expect(bench.outside.order(run.id)).toEqual(["S1", "S2", "C2", "C1"]);
  expect(bench.seen("S2", "compensate")).toEqual([{ outcome: "in_doubt" }]);
});
