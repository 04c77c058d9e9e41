// The rules of a function's journal: each is broken by a journal that breaks nothing else.

import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { checkJournal } from "../../../src/core/rules.js";
import type { Shape, StepShape } from "../../../src/definition/shape.js";

const shape: Shape = { steps: [], function: true };
const output = { format: "text", text: "given" };
const error = { name: "Error", message: "no" };
const unit = (name: string, of: Partial<StepShape> = {}): StepShape => ({
  ...{ name, kind: "compensatable", undone: true, transactional: false },
  ...of,
});
const taken: Entry = { kind: "taken_up", worker: "w1", token: "t1", crash: false };
const begun: Entry[] = [
  taken,
  { kind: "declared", units: [unit("a"), unit("b"), unit("P", { kind: "pivot", undone: false })] },
];
const done = (step: string): Entry => ({ kind: "step_completed", step, output, attempt: 1 });
const entered: Entry = { kind: "pivot_entered", step: "P" };
const undone = (step: string): Entry => ({ kind: "step_compensated", step, attempt: 1 });
const owing = (step: string): Entry => ({ kind: "compensation_failed", step, attempts: 1, error });
const turned: Entry = { kind: "rollback_started", cause: "failure" };
const finished = (status: "completed" | "failed" | "compensation_failed" | "in_doubt"): Entry => ({
  kind: "finished",
  status,
});
const failed = (step: string, doubt: "definite" | "in_doubt"): Entry => ({
  kind: "step_failed",
  step,
  attempts: 1,
  error,
  doubt,
});
const resolved = (step: string, as: "done" | "not_done" | "undone"): Entry => ({
  kind: "resolved",
  step,
  as,
  by: "ana",
  output,
});

function broken(...entries: Entry[]): string[] {
  const rows = entries.map((entry, index) => ({ number: index + 1, at: 0, nonce: "", entries: [entry] }));
  return checkJournal(shape, rows).map(({ rule, number }) => `${number}: ${rule.split(" ").slice(0, 5).join(" ")}`);
}

describe("the rules of a function's journal", () => {
  test.each<readonly [string, ...Entry[]]>([
    ["2.3 what an entry is", taken, done("a")],
    ["1.2 only an owner writes", ...begun, { kind: "parked", until: 1 }, done("a")],
    ["1.2 only an owner writes", ...begun, { kind: "handed_over", worker: "w1" }, done("a")],
    ["1.3 a taking up names", ...begun, { kind: "taken_up", worker: "w2", token: "t2", crash: false }],
    ["1.2 a step's outcome is", ...begun, done("a"), done("a")],
    ["1.10 the pivot is entered", ...begun, done("P")],
    ["1.10 the pivot is entered", ...begun, entered, entered],
    ["1.10 nothing turns back after", ...begun, entered, done("P"), turned],
    ["1.8 undone is what may", ...begun, done("a"), done("b"), turned, undone("a")],
    ["1.8 undone is what may", ...begun, done("a"), undone("a")],
    ["1.8 undone is what may", ...begun, done("a"), failed("b", "in_doubt"), turned, undone("a")],
    ["1.4 a clean word never", ...begun, done("a"), turned, finished("failed")],
    ["1.4 a clean word never", ...begun, failed("a", "in_doubt"), turned, finished("failed")],
    [
      "1.4 a clean word never",
      ...begun,
      { kind: "child_started", step: "a", runId: "r", input: output },
      turned,
      finished("failed"),
    ],
    ["1.4 a clean word never", ...begun, turned, finished("compensation_failed")],
    ["1.4 a clean word never", ...begun, turned, finished("completed")],
    ["1.4 a clean word never", ...begun, finished("in_doubt")],
    ["1.4 after the end only", ...begun, finished("completed"), taken],
  ])("%s", (rule, ...entries) => {
    expect(broken(...(entries as Entry[]))).toEqual([`${entries.length}: ${rule}`]);
  });

  test.each<readonly [string, ...Entry[]]>([
    [
      "past timers, signals and children",
      ...begun,
      { kind: "timer_fired", step: "a" },
      { kind: "signal_timed_out", step: "b" },
      { kind: "child_finished", step: "P", status: "failed" },
      { kind: "recalled", by: "run r" },
    ],
    ["forward", ...begun, done("a"), entered, done("P"), finished("completed")],
    [
      "back, the doubtful first",
      ...begun,
      done("a"),
      failed("b", "in_doubt"),
      turned,
      undone("b"),
      undone("a"),
      finished("failed"),
    ],
    [
      "back from a pivot that did not happen",
      ...begun,
      done("a"),
      entered,
      failed("P", "definite"),
      turned,
      undone("a"),
      finished("failed"),
    ],
    [
      "back by an operator's word",
      ...begun,
      entered,
      failed("P", "in_doubt"),
      finished("in_doubt"),
      resolved("P", "not_done"),
      turned,
      finished("failed"),
    ],
    [
      "on by an operator's word",
      ...begun,
      entered,
      failed("P", "in_doubt"),
      finished("in_doubt"),
      resolved("P", "done"),
    ],
    [
      "owed, and undone by hand",
      ...begun,
      done("a"),
      turned,
      owing("a"),
      finished("compensation_failed"),
      resolved("a", "undone"),
      finished("failed"),
    ],
    [
      "owed, and tried again",
      ...begun,
      done("a"),
      turned,
      owing("a"),
      finished("compensation_failed"),
      { kind: "retried", by: "ana" },
      { ...taken, token: "t2" },
      undone("a"),
      finished("failed"),
    ],
    [
      "what is asked about did not happen",
      ...begun,
      { ...attempt("a"), doubt: true },
      { kind: "reconciled", step: "a", answer: "not_happened", asks: 1, askAt: 0 },
      turned,
      finished("failed"),
    ],
  ])("a run that goes %s breaks none", (_, ...entries) => {
    expect(broken(...(entries as Entry[]))).toEqual([]);
  });
});

function attempt(step: string): Extract<Entry, { kind: "attempt_failed" }> {
  return {
    kind: "attempt_failed",
    step,
    direction: "forward",
    attempt: 1,
    attempts: 1,
    counted: true,
    failures: 1,
    error,
    doubt: false,
    final: false,
    retryAt: 0,
  };
}
