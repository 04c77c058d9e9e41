// Who is dead, and what counts as a crash (design 1.6, 3.3). A twin without the rule shows the harm.

import { describe, expect, test } from "vitest";
import { judge, type Witness } from "../../../src/worker/judging.js";

const leaseMs = 30_000;
const fresh = (steadyMs: number): Witness => ({ steadyMs, unbroken: true, leaseMs });
const returned = (steadyMs: number): Witness => ({ steadyMs, unbroken: false, leaseMs });

/** The rule as it would be without looking at oneself: whoever looks dead is dead, and crashed. */
const naive: typeof judge = ({ why }) => ({ dead: why !== "suspected", crash: true });

describe("a silent worker", () => {
  test("whose lock was found free once is not dead", () => {
    expect(judge({ why: "suspected", silentMs: 200 }, fresh(60_000)).dead).toBe(false);
  });

  test("whose lock was free twice is dead, and crashed, to who had no trouble itself, however new it is", () => {
    expect(judge({ why: "lock", silentMs: 600 }, fresh(10))).toEqual({ dead: true, crash: true });
    expect(judge({ why: "lock", silentMs: 600 }, returned(60_000))).toEqual({ dead: true, crash: true });
  });

  test("after a cut that freed all locks, the first who is back convicts nobody until the others could be back", () => {
    const cutOff = { why: "lock", silentMs: 12_000 } as const;
    expect(naive(cutOff, returned(300))).toEqual({ dead: true, crash: true });
    expect(judge(cutOff, returned(300)).dead).toBe(false);
    expect(judge(cutOff, returned(4_999)).dead).toBe(false);
    // Long after: dead, but what it was at does not count, for the witness could not beat throughout.
    expect(judge(cutOff, returned(5_000))).toEqual({ dead: true, crash: false });
  });

  test("after an outage longer than a lease, the first who beats again convicts nobody either", () => {
    const expired = { why: "lease", silentMs: 40_000 } as const;
    expect(naive(expired, returned(0))).toEqual({ dead: true, crash: true });
    expect(judge(expired, returned(0)).dead).toBe(false);
    expect(judge(expired, returned(5_000))).toEqual({ dead: true, crash: false });
    // Nor does a process that starts just as the database is back.
    expect(judge(expired, fresh(0)).dead).toBe(false);
  });

  test("PSN-1: crash loops with long pauses are counted: a new process waits, then takes over, and it counts", () => {
    expect(judge({ why: "lease", silentMs: 300_000 }, fresh(5_000))).toEqual({ dead: true, crash: true });
  });

  test("who had trouble before the silence began is as good a witness as any", () => {
    expect(judge({ why: "lease", silentMs: 31_000 }, returned(31_000))).toEqual({ dead: true, crash: true });
    expect(judge({ why: "lease", silentMs: 31_000 }, returned(30_999))).toEqual({ dead: true, crash: false });
  });

  test("who was declared dead by another is dead; whether it counts is told as ever", () => {
    expect(judge({ why: "declared", silentMs: 1_000 }, returned(0))).toEqual({ dead: true, crash: false });
    expect(judge({ why: "declared", silentMs: 1_000 }, fresh(0))).toEqual({ dead: true, crash: true });
  });

  test("with a short lease the wait is half of it", () => {
    const short = { unbroken: true, leaseMs: 1_000 };
    expect(judge({ why: "lease", silentMs: 1_001 }, { ...short, steadyMs: 499 }).dead).toBe(false);
    expect(judge({ why: "lease", silentMs: 1_001 }, { ...short, steadyMs: 500 }).dead).toBe(true);
  });
});
