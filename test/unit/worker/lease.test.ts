// A lease behind a pooler, where it alone tells: on a database that answers as it is told to, and a clock that is set.

import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/platform/log.js";
import type { Database } from "../../../src/store/db.js";
import { Lease } from "../../../src/worker/lease.js";
import { ManualClock, settled } from "../../support/manual-clock.js";

const leaseMs = 10_000;
const beatMs = 2_000;

type Answer = "accepted" | "refused" | "fails" | "hangs";

function leased() {
  const clock = new ManualClock();
  const said = { beats: "accepted" as Answer, registered: 0, sent: [] as string[], retired: [] as string[] };
  const events: string[] = [];
  const answer = async (statement: (schema: string) => string, values: readonly unknown[]) => {
    const text = statement('"s"');
    if (text.includes("insert into")) {
      said.registered += 1;
      return [{ id: String(said.registered) }];
    }
    if (text.includes("delete from")) {
      said.retired.push(String(values[0]));
      return [];
    }
    said.sent.push(String(values[0]));
    if (said.beats === "fails") throw new Error("away");
    if (said.beats === "hangs") return new Promise<never>(() => {});
    if (said.beats === "refused") return [];
    return [{ at: String(clock.now()), key: null, run_id: null, token: null, pokes: null }];
  };
  const database = {
    pooled: true,
    run: answer,
    once: answer,
    nowOverride: () => null,
    logger: silentLogger,
    clock: { mark: () => clock.monotonic(), observe: () => {} },
  } as unknown as Database;
  const lease = new Lease({
    database,
    leaseMs,
    beatMs,
    host: "h",
    pid: 1,
    registered: "[]",
    clock,
    chance: { random: () => 0.5, id: () => "", runId: () => "" },
    logger: { ...silentLogger, error: (_, message = "") => void events.push(message) },
    listen: false,
    onNotification: () => {},
    onBeat: () => {},
    onHeld: () => {},
    onLost: () => void events.push("lost"),
    onLag: (lagMs) => void events.push(`lag ${lagMs}`),
  });
  return { lease, clock, said, events };
}

describe("a lease", () => {
  test("is firm from its registration on, and each accepted beat renews it", async () => {
    const { lease, clock, said } = leased();
    await lease.start();
    expect([lease.firm, lease.id]).toEqual([true, "1"]);
    await clock.pass(60_000);
    expect(lease.firm).toBe(true);
    expect(said.sent.length).toBeGreaterThanOrEqual(30);
    expect(lease.steadyMs).toBe(60_000);
    expect(lease.unbroken).toBe(true);
  });

  test("that can't be renewed is given up before it can have run out, counted from the sending of the last beat", async () => {
    const { lease, clock, said, events } = leased();
    await lease.start();
    await clock.pass(4_000);
    const lastAcceptedAt = clock.now();
    said.beats = "fails";
    await clock.pass(lastAcceptedAt + leaseMs * 0.9 - clock.now() - 1);
    expect([lease.firm, events]).toEqual([true, []]);
    await clock.pass(1);
    expect(lease.firm).toBe(false);
    expect(events).toEqual(["the lease could not be renewed in time: all attempts are aborted as lost", "lost"]);
    expect(clock.now() - lastAcceptedAt).toBeLessThan(leaseMs);
  });

  test("a failed beat alone gives up nothing; but who had one is not steady, and was not throughout", async () => {
    const { lease, clock, said, events } = leased();
    await lease.start();
    await clock.pass(5_000);
    said.beats = "fails";
    await clock.pass(2_000);
    expect([lease.firm, lease.steadyMs]).toEqual([true, 0]);
    said.beats = "accepted";
    await clock.pass(4_000);
    expect(events).toEqual([]);
    expect([lease.firm, lease.unbroken]).toEqual([true, false]);
    expect(lease.steadyMs).toBeLessThan(4_000);
    expect(lease.steadyMs).toBeGreaterThan(0);
  });

  test("a beat that is never answered counts as failed, and the next one is sent", async () => {
    const { lease, clock, said } = leased();
    await lease.start();
    said.beats = "hangs";
    await clock.pass(beatMs);
    const { length } = said.sent;
    said.beats = "accepted";
    await clock.pass(leaseMs / 3 + 400);
    expect(said.sent.length).toBeGreaterThan(length);
    expect(lease.firm).toBe(true);
  });

  test("refused, the worker is dead to others: all is lost, and it goes on under a new id, once", async () => {
    const { lease, clock, said, events } = leased();
    await lease.start();
    said.beats = "refused";
    await clock.pass(beatMs);
    said.beats = "accepted";
    await clock.pass(beatMs);
    expect(events).toEqual(["lost"]);
    expect([lease.id, lease.firm, said.registered]).toEqual(["2", true, 2]);
    expect(said.sent.at(-1)).toBe("2");
    expect(lease.unbroken).toBe(false);
    expect(lease.steadyMs).toBeLessThanOrEqual(beatMs);
  });

  test("winding up, no body may begin, nobody waits for leave, and beats go on", async () => {
    const { lease, clock, said } = leased();
    await lease.start();
    said.beats = "fails";
    await clock.pass(leaseMs);
    const leave = lease.mayStart();
    lease.wind();
    await leave;
    said.beats = "accepted";
    const { length } = said.sent;
    await clock.pass(10 * beatMs);
    expect(lease.firm).toBe(false);
    expect(said.sent.length).toBeGreaterThan(length + 5);
  });

  test("closed, it is retired, and leaves no timer that would keep the process", async () => {
    const { lease, clock, said } = leased();
    await lease.start();
    await clock.pass(beatMs / 2);
    await lease.close();
    await settled();
    expect(said.retired).toEqual(["1"]);
    expect(clock.waits).toEqual([]);
    expect(lease.firm).toBe(false);
  });

  test("closed in the middle of a beat, its answer renews nothing", async () => {
    const { lease, clock, said, events } = leased();
    await lease.start();
    said.beats = "hangs";
    await clock.pass(beatMs);
    const closing = lease.close();
    await clock.pass(leaseMs);
    await closing;
    expect(clock.waits).toEqual([]);
    expect(events).toEqual([]);
  });

  test("closed before it was ever registered, it asks nothing of the database", async () => {
    const { lease, said } = leased();
    await lease.close();
    expect(said.retired).toEqual([]);
  });
});
