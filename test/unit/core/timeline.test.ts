import { describe, expect, it } from "vitest";
import { type Entry, farFuture } from "../../../src/core/entry.js";
import { timelineOf } from "../../../src/core/timeline.js";

const startedAt = new Date(1_000_000);
const error = { name: "Error", message: "no\nanswer" };
const output = { format: "devalue", text: "[{}]" };

function told(...entries: Entry[]) {
  const history = entries.map((entry, index) => ({ number: index + 1, at: new Date(1_000_000 + index * 10), entry }));
  return timelineOf(history, startedAt).map(({ tone, text }) => `${tone} ${text}`);
}

describe("timelineOf", () => {
  it("gives one line an entry, with its number, its time since the start, its step and what the step gave", () => {
    const entry: Entry = { kind: "step_completed", step: "a", output, attempt: 1 };
    const [line] = timelineOf([{ number: 4, at: new Date(1_002_500), entry, output: { id: 1n } }], startedAt);
    expect(line).toEqual({
      number: 4,
      at: new Date(1_002_500),
      sinceStartMs: 2_500,
      tone: "done",
      text: "a",
      step: "a",
      output: { id: 1n },
    });
  });

  it("tells who drives the run, who died, and who only lost it", () => {
    expect(
      told(
        { kind: "taken_up", worker: "w1", token: "t1", crash: false },
        { kind: "taken_up", worker: "w2", token: "t2", from: "t1", crash: true },
        { kind: "taken_up", worker: "w3", token: "t3", from: "t2", crash: false },
        { kind: "handed_over", worker: "w3" },
        { kind: "taken_up", worker: "w4", token: "t4", crash: false },
        { kind: "taken_up", worker: "w5", token: "t5", from: "never seen", crash: true },
      ),
    ).toEqual([
      "owner taken up by worker w1",
      "lost worker w1 died; taken over by worker w2",
      "lost worker w2 lost the run; taken over by worker w3",
      "wait worker w3 stopped and gave the run back",
      "owner taken up again by worker w4",
      "lost worker unknown died; taken over by worker w5",
    ]);
  });

  it("tells what is waited for, decided, listed and begun elsewhere", () => {
    const payload = output;
    expect(
      told(
        { kind: "condition_decided", step: "a", holds: true },
        { kind: "condition_decided", step: "b", holds: false },
        { kind: "timer_started", step: "z", until: 1_000_020 + 90_000 },
        { kind: "timer_fired", step: "z" },
        { kind: "signal_received", signal: "approval", payload },
        { kind: "signal_awaited", step: "w", until: farFuture },
        { kind: "signal_awaited", step: "w", until: 1_000_060 + 3_600_000 },
        { kind: "signal_consumed", step: "w", received: 5, payload },
        { kind: "signal_rejected", step: "w", received: 6, error },
        { kind: "signal_timed_out", step: "w" },
        { kind: "items_listed", step: "e", items: output, count: 1, concurrency: 1 },
        { kind: "items_listed", step: "e", items: output, count: 3, concurrency: 1 },
        { kind: "child_started", step: "k", runId: "p/k", input: output },
        { kind: "child_finished", step: "k", status: "completed", output },
        { kind: "child_finished", step: "k", status: "failed" },
        { kind: "recalled", by: "run p" },
        { kind: "parked", until: farFuture },
      ),
    ).toEqual([
      "done a is to run",
      "done b skipped: not needed",
      "wait z sleeps for 1.5m",
      "done z woke up",
      "wait signal approval received",
      "wait w waits for a signal",
      "wait w waits for a signal, for 1h",
      "done w got the signal of row 5",
      "retry w can't use the signal of row 6: Error: no answer",
      "done w: no signal came in time",
      "wait e is to be done for 1 item",
      "wait e is to be done for 3 items",
      "wait k starts run p/k",
      "done k: its run ended completed",
      "failed k: its run ended failed",
      "operator run p took back what was done",
      "wait parked until something happens",
    ]);
  });

  it("tells attempts, doubt and the end of a step, an error on one line", () => {
    const failed = { attempts: 1, failures: 1, counted: true, error, final: false } as const;
    expect(
      told(
        {
          kind: "attempt_failed",
          step: "a",
          direction: "forward",
          attempt: 1,
          doubt: false,
          retryAt: 1_000_250,
          ...failed,
        },
        {
          kind: "attempt_failed",
          step: "a",
          direction: "forward",
          attempt: 2,
          doubt: true,
          retryAt: 1_001_510,
          ...failed,
        },
        { kind: "attempt_failed", step: "a", direction: "compensate", attempt: 3, doubt: false, retryAt: 0, ...failed },
        {
          kind: "attempt_failed",
          step: "p",
          direction: "forward",
          attempt: 4,
          doubt: true,
          retryAt: 0,
          ...failed,
          final: true,
        },
        { kind: "step_completed", step: "a", output, attempt: 2 },
        { kind: "step_failed", step: "b", attempts: 1, error, doubt: "definite" },
        { kind: "step_failed", step: "b", attempts: 2, error, doubt: "in_doubt" },
      ),
    ).toEqual([
      "retry a failed (attempt 1), again in 250ms: Error: no answer",
      "retry a failed (attempt 2, may have happened), again in 1.5s: Error: no answer",
      "retry undoing a failed (attempt 3), again in 0ms: Error: no answer",
      "retry p failed (attempt 4, may have happened), its outcome is asked for: Error: no answer",
      "done a (attempt 2)",
      "failed b failed for good after 1 attempt, and did not happen: Error: no answer",
      "failed b failed for good after 2 attempts, and may have happened: Error: no answer",
    ]);
  });

  it("promises no further attempt where the saga turned back in the same row", () => {
    const failed = {
      attempts: 1,
      failures: 1,
      counted: false,
      error,
      final: false,
      doubt: true,
      retryAt: 1_000_500,
    } as const;
    const entries: Entry[] = [
      { kind: "attempt_failed", step: "a", direction: "forward", attempt: 1, ...failed },
      { kind: "rollback_started", cause: "cancel" },
    ];
    const told = (numbers: readonly number[]) =>
      timelineOf(
        entries.map((entry, index) => ({ number: numbers[index]!, at: startedAt, entry })),
        startedAt,
      )[0]?.text;
    expect(told([1, 1])).toBe("a failed (attempt 1, may have happened): Error: no answer");
    expect(told([1, 2])).toBe("a failed (attempt 1, may have happened), again in 500ms: Error: no answer");
  });

  it("tells what reconcile answered", () => {
    expect(
      told(
        { kind: "reconciled", step: "p", answer: "not_happened", asks: 1, askAt: 0 },
        { kind: "reconciled", step: "p", answer: "cannot_tell", asks: 2, askAt: 0 },
        { kind: "reconciled", step: "p", answer: "cannot_tell", asks: 3, askAt: 0, error },
      ),
    ).toEqual([
      "doubt asked whether p happened: it did not",
      "doubt asked whether p happened (ask 2): nobody can tell yet",
      "doubt asked whether p happened (ask 3): nobody can tell yet: Error: no answer",
    ]);
  });

  it("marks the pivot, the turn, what was undone and what is owed", () => {
    expect(
      told(
        { kind: "pivot_entered", step: "p" },
        { kind: "rollback_started", cause: "failure" },
        { kind: "rollback_started", cause: "cancel" },
        { kind: "rollback_started", cause: "deadline" },
        { kind: "step_compensated", step: "a", attempt: 1 },
        { kind: "step_compensated", step: "a", attempt: 2 },
        { kind: "compensation_failed", step: "b", attempts: 3, error },
      ),
    ).toEqual([
      "pivot pivot p: a stop is refused from here on",
      "turn turns back: a step failed",
      "turn turns back: somebody asked to stop",
      "turn turns back: it took too long",
      "undone a undone",
      "undone a undone (attempt 2)",
      "failed b could not be undone after 3 attempts: still owed: Error: no answer",
    ]);
  });

  it("tells what people did, with their reasons", () => {
    expect(
      told(
        { kind: "cancel_requested", by: "ana" },
        { kind: "cancel_requested", by: "ana", reason: "changed\n her mind" },
        { kind: "cancel_refused", by: "bo", reason: "", pivot: "p" },
        { kind: "cancel_refused", by: "bo", reason: "late", pivot: "p" },
        { kind: "resolved", step: "p", as: "not_done", by: "cy", note: "asked the bank" },
        { kind: "retried", by: "cy" },
      ),
    ).toEqual([
      "operator ana asked to stop",
      "operator ana asked to stop (changed her mind)",
      "refused bo asked to stop: refused, the pivot p was entered",
      "refused bo asked to stop (late): refused, the pivot p was entered",
      "operator cy settled p as not_done (asked the bank)",
      "operator cy asked to try again",
    ]);
  });

  it("tells how long a parked run waits, and how the run ended", () => {
    const until = (ms: number): Entry => ({ kind: "parked", until: ms });
    expect(
      told(
        until(1_000_000),
        until(1_000_010 + 90_000),
        until(1_000_020 + 5_400_000),
        until(1_000_030 + 2 * 86_400_000),
        until(Number.POSITIVE_INFINITY),
      ),
    ).toEqual([
      "wait parked for 0ms",
      "wait parked for 1.5m",
      "wait parked for 1.5h",
      "wait parked for 2d",
      "wait parked for ever",
    ]);
    expect(told({ kind: "finished", status: "completed", output }, { kind: "finished", status: "in_doubt" })).toEqual([
      "completed completed",
      "ended in_doubt",
    ]);
  });

  it("tells what a function asked for, and that it threw", () => {
    const unit = { name: "a", kind: "compensatable", undone: true, transactional: false } as const;
    expect(
      told(
        { kind: "declared", units: [unit, { ...unit, name: "b" }] },
        { kind: "function_failed", error },
        { kind: "function_failed", error, step: "a" },
      ),
    ).toEqual([
      "wait the function asks for a, b",
      "failed the function threw: Error: no answer",
      "failed the function threw: Error: no answer",
    ]);
  });
});
