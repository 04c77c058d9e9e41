import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { pivot, step } from "../../../src/definition/step.js";
import { historyOf, viewOf } from "../../../src/executor/view.js";
import { decodeValue, encodeValue } from "../../../src/journal/codec.js";
import type { LoadedRun } from "../../../src/journal/journal.js";

const run = () => {};
const { shape } = defineSaga({
  name: "saga",
  version: 3,
  steps: [
    step({ name: "S1", run, compensate: run }),
    step({ name: "S2", run, compensate: run }),
    pivot({ name: "P", run }),
    step({ name: "S4", run }),
  ],
});

const output = encodeValue({ a: 1 });
const error = { name: "Error", message: "down" };
const taken: Entry = { kind: "taken_up", worker: "w1", token: "t1", crash: false };
const parked = (until: number): Entry => ({ kind: "parked", until });
const completed = (name: string): Entry => ({ kind: "step_completed", step: name, output, attempt: 1 });
const failed = (name: string, direction: "forward" | "compensate", retryAt: number): Entry => ({
  kind: "attempt_failed",
  step: name,
  direction,
  attempt: 1,
  attempts: 1,
  counted: true,
  failures: 1,
  error,
  doubt: direction === "forward",
  final: false,
  retryAt,
});
const stepFailed = (name: string, doubt: "definite" | "in_doubt" = "definite"): Entry => ({
  kind: "step_failed",
  step: name,
  attempts: 2,
  error,
  doubt,
});

/** A run made at 0 that starts at 100, with a row for each list of entries, one a millisecond from 200 on. */
function loaded(...rows: Entry[][]): LoadedRun {
  const header = {
    runId: "r1",
    saga: "saga",
    version: 3,
    shape,
    input: encodeValue({ n: 1 }),
    inputDigest: "",
    priority: 0,
    key: "k",
    createdAt: 0,
    startAt: 100,
  };
  return {
    header,
    rows: rows.map((entries, index) => ({ number: index + 1, at: 200 + index, entries, nonce: `n${index}` })),
  };
}

const viewing = { decode: decodeValue, now: 1_000, blocked: [] };
const view = (...rows: Entry[][]) => viewOf(loaded(...rows), viewing);

describe("a view", () => {
  test("of a run that has not begun", () => {
    expect(viewOf(loaded(), { ...viewing, now: 50 })).toEqual({
      id: "r1",
      saga: "saga",
      version: 3,
      status: "pending",
      input: { n: 1 },
      step: "S1",
      direction: "forward",
      attempts: 0,
      nextAttemptAt: new Date(100),
      waiting: "for its start",
      owed: [],
      createdAt: new Date(0),
      startAt: new Date(100),
    });
    expect(view()).toMatchObject({ status: "pending", waiting: "for a worker" });
  });

  test("of a run under way: who drives it, no wait", () => {
    const running = viewOf(loaded([taken], [completed("S1")]), { ...viewing, note: { percent: 4 } });
    expect(running).toMatchObject({
      status: "running",
      step: "S2",
      direction: "forward",
      worker: "w1",
      note: { percent: 4 },
    });
    expect(running).not.toHaveProperty("waiting");
  });

  test("between two attempts: when the next one is, whether it is parked for it or not", () => {
    const awake = view([taken], [failed("S1", "forward", 1_500)]);
    expect(awake).toMatchObject({
      status: "running",
      attempts: 1,
      waiting: "for its next attempt",
      nextAttemptAt: new Date(1_500),
    });
    expect(awake).toMatchObject({ error: { message: "down" }, lastError: { message: "down" } });
    const asleep = view([taken], [failed("S1", "forward", 9_000), parked(9_000)]);
    expect(asleep).toMatchObject({
      status: "waiting",
      waiting: 'to try step "S1" again',
      nextAttemptAt: new Date(9_000),
    });
    expect(view([taken], [failed("S1", "forward", 900), parked(900)])).toMatchObject({ waiting: "for a worker" });
    expect(view([taken], [failed("S1", "forward", 900)])).not.toHaveProperty("waiting");
  });

  test("rolling back: the cause, what is owed, the failed step's error beside the compensation's", () => {
    const back = view(
      [taken],
      [completed("S1")],
      [stepFailed("S2", "in_doubt"), { kind: "rollback_started", cause: "failure" }],
      [{ ...failed("S2", "compensate", 5_000), error: { name: "Error", message: "not yet" } } as Entry],
    );
    expect(back).toMatchObject({
      status: "compensating",
      cause: "failure",
      step: "S2",
      direction: "compensate",
      attempts: 1,
      owed: ["S2", "S1"],
      error: { message: "down" },
      lastError: { message: "not yet" },
      nextAttemptAt: new Date(5_000),
    });
  });

  test("of a completed run: its output, no step, nothing owed", () => {
    const end = view([taken], ["S1", "S2"].map(completed), [
      completed("P"),
      completed("S4"),
      { kind: "finished", status: "completed", output },
    ]);
    expect(end).toMatchObject({ status: "completed", output: { a: 1 }, attempts: 0, owed: [], endedAt: new Date(202) });
    for (const absent of ["step", "waiting", "nextAttemptAt", "worker", "error"])
      expect(end).not.toHaveProperty(absent);
  });

  test.each([
    [
      "failed",
      [
        [taken],
        [stepFailed("S1"), { kind: "rollback_started", cause: "failure" }, { kind: "finished", status: "failed" }],
      ],
      "S1",
      [],
    ],
    [
      "forward_incomplete",
      [
        [taken],
        [completed("S1"), completed("S2"), completed("P")],
        [stepFailed("S4"), { kind: "finished", status: "forward_incomplete" }],
      ],
      "S4",
      [],
    ],
    [
      "compensation_failed",
      [
        [taken],
        [completed("S1")],
        [stepFailed("S2"), { kind: "rollback_started", cause: "failure" }],
        [
          { kind: "compensation_failed", step: "S1", attempts: 1, error },
          { kind: "finished", status: "compensation_failed" },
        ],
      ],
      "S2",
      ["S1"],
    ],
  ] as const)(
    "of a run that ended %s: the step whose failure brought it about, and what is owed",
    (status, rows, name, owed) => {
      expect(view(...(rows as unknown as Entry[][]))).toMatchObject({
        status,
        step: name,
        direction: "forward",
        attempts: 2,
        owed,
        error: { message: "down" },
      });
    },
  );

  test("of a cancelled run: who asked when; a compensation's error where nothing else failed", () => {
    const asked: Entry = { kind: "cancel_requested", by: "ana" };
    const cancelled = view([asked, { kind: "finished", status: "cancelled" }]);
    expect(cancelled).toMatchObject({
      status: "cancelled",
      cause: "cancel",
      cancelRequestedAt: new Date(200),
      attempts: 0,
    });
    expect(cancelled).not.toHaveProperty("step");
    const owing = view(
      [taken],
      [completed("S1")],
      [asked, { kind: "rollback_started", cause: "cancel" }],
      [
        { kind: "compensation_failed", step: "S1", attempts: 1, error },
        { kind: "finished", status: "compensation_failed" },
      ],
    );
    expect(owing).toMatchObject({
      status: "compensation_failed",
      cause: "cancel",
      owed: ["S1"],
      error: { message: "down" },
    });
    const refused: Entry = { kind: "cancel_refused", by: "ana", pivot: "P" };
    expect(
      view([taken], [completed("S1"), completed("S2"), { kind: "pivot_entered", step: "P" }], [refused]),
    ).toMatchObject({
      cancelRefusedAt: new Date(202),
    });
  });

  test("blocked is derived, of a live run alone", () => {
    const blocked = ['no saga "saga" is registered'];
    expect(viewOf(loaded([taken], [parked(0)]), { ...viewing, blocked })).toMatchObject({ status: "blocked", blocked });
    const ended = viewOf(loaded([{ kind: "finished", status: "cancelled" }]), { ...viewing, blocked });
    expect(ended.status).toBe("cancelled");
    expect(ended).not.toHaveProperty("blocked");
  });
});

test("a history tells each entry, those of one row with its number, and what it gave", () => {
  const { rows } = loaded([taken], [completed("S1"), { kind: "pivot_entered", step: "P" }]);
  expect(historyOf(rows, decodeValue)).toEqual([
    { number: 1, at: new Date(200), entry: taken },
    { number: 2, at: new Date(201), entry: completed("S1"), output: { a: 1 } },
    { number: 2, at: new Date(201), entry: { kind: "pivot_entered", step: "P" } },
  ]);
});
