// Reading journals on a real Postgres: failed attempts that a later one makes superfluous are left out, and the fold does
// not notice (design 1.3, 3.5).

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttemptFailed, Entry, Row } from "../../src/core/entry.js";
import { foldRows } from "../../src/core/fold.js";
import { initialState, type RunState } from "../../src/core/state.js";
import type { Shape } from "../../src/definition/shape.js";
import { PgJournal } from "../../src/journal/pg-journal.js";
import { rowFacts } from "../../src/journal/pg-rows.js";
import { appendRow } from "../../src/store/entries.js";
import { rowsAfter, rowsOfRuns } from "../../src/store/journal-rows.js";
import { newRow, type TestStore, testStore } from "./store.js";

let store: TestStore;
let journal: PgJournal;
beforeAll(async () => {
  store = await testStore();
  journal = new PgJournal({ database: store.database });
});
afterAll(async () => {
  await journal.close();
  await store.close();
});

const shape: Shape = {
  steps: [
    { name: "a", kind: "compensatable", undone: true, transactional: false },
    { name: "b", kind: "pivot", undone: false, transactional: false },
  ],
};

type Move = "fail" | "park" | "loss" | "crash" | "hand over" | "ask" | "retry" | "go on";
const moves: readonly Move[] = ["fail", "park", "loss", "crash", "hand over", "ask", "retry", "go on"];

let tokens = 0;

/** The next row of a run of `shape` whose step a does not succeed, as a worker, a taker or a bystander would write it. */
function entriesFor(state: RunState, move: Move, at: number): readonly Entry[] {
  tokens += 1;
  const token = `t${tokens}`;
  if (state.owner === undefined && move !== "ask" && move !== "retry")
    return [{ kind: "taken_up", worker: "w", token, crash: false }];
  const { forward } = state.steps.a!;
  const failed: AttemptFailed = {
    kind: "attempt_failed",
    step: "a",
    direction: "forward",
    attempt: forward.attempts + 1,
    attempts: forward.attempts + 1,
    counted: true,
    failures: forward.failures + 1,
    error: { name: "Error", message: `${at}` },
    doubt: at % 2 === 0,
    final: false,
    retryAt: at + 50,
  };
  switch (move) {
    case "fail":
    case "go on":
      return [failed];
    case "park":
      return [failed, { kind: "parked", until: at + 50 }];
    case "hand over":
      return [{ kind: "handed_over", worker: "w" }];
    case "loss":
    case "crash":
      return [{ kind: "taken_up", worker: "w", token, from: state.owner!.token, crash: move === "crash" }];
    case "ask":
      return [{ kind: "cancel_requested", by: "ana" }];
    case "retry":
      return [{ kind: "retried", by: "ana" }];
  }
}

let runs = 0;

/** When a run that is driven is due means nothing, until it is given up and due anew. */
const meaningful = (state: RunState) => (state.owner === undefined ? state : { ...state, dueAt: 0 });

test("a journal without its superfluous rows folds to the same state as the whole one", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...moves), { maxLength: 25 }), async (script) => {
      runs += 1;
      const start = {
        runId: `p${runs}`,
        saga: "s",
        version: 1,
        shape,
        input: { format: "f", text: "" },
        inputDigest: "",
        priority: 0,
      };
      const { header } = await journal.start(start);
      const whole: Row[] = [];
      let state = initialState(shape, header.startAt);
      for (const move of script) {
        const entries = entriesFor(state, move, whole.length);
        const result = await journal.append({
          header,
          number: whole.length + 1,
          nonce: `${runs}/${whole.length}`,
          writer: "w",
          entries,
        });
        if (result.kind !== "appended") throw new Error("lost");
        whole.push(result.row);
        state = foldRows(shape, initialState(shape, header.startAt), whole);
      }
      const read = (await journal.load(header.runId))!.rows;
      expect(meaningful(foldRows(shape, initialState(shape, header.startAt), read))).toEqual(meaningful(state));
      expect(read.at(-1)).toEqual(whole.at(-1));
      // From the middle of the journal as well: what a driver reads that lost its number.
      const middle = Math.floor(whole.length / 2);
      const early = foldRows(shape, initialState(shape, header.startAt), whole.slice(0, middle));
      expect(meaningful(foldRows(shape, early, await journal.rowsAfter(header, middle)))).toEqual(meaningful(state));
    }),
    { numRuns: 100 },
  );
});

test("of a thousand failed and parked attempts of one step only the last is read", async () => {
  const run = await store.run();
  await store.fresh.query(
    `insert into rubicon.journal (run, number, kind, format, payload, writer, nonce, at, only_last)
     select $1, n, 'x', 'test', '[]', 'w', n, now(), case when n % 2 = 0 then '["forward","a"]' end from generate_series(1, 2000) n`,
    [run],
  );
  expect(await rowsAfter(store.database, run, 0)).toHaveLength(1001);
});

test("a loss keeps the failed attempts before it apart from those after", async () => {
  const run = await store.run();
  const onlyLast = "x";
  const rows = [{ onlyLast }, { onlyLast }, { loss: true }, { onlyLast }, { onlyLast: "y" }, { onlyLast }];
  for (const [index, row] of rows.entries())
    await appendRow(store.database, newRow({ run, number: index + 1, ...row }), { lockTimeoutMs: 0, now: null });
  expect((await rowsAfter(store.database, run, 0)).map((row) => row.number)).toEqual([2, 3, 5, 6]);
  expect((await rowsAfter(store.database, run, 3)).map((row) => row.number)).toEqual([5, 6]);
});

test("journals of many runs are read at once, each its own", async () => {
  const keys = await Promise.all(Array.from({ length: 5 }, () => store.run()));
  for (const [index, run] of keys.entries())
    for (let number = 1; number <= index; number += 1)
      await appendRow(store.database, newRow({ run, number, onlyLast: "x" }), { lockTimeoutMs: 0, now: null });
  const journals = await rowsOfRuns(store.database, keys);
  expect(keys.map((run) => journals.get(run)?.map((row) => row.number))).toEqual([undefined, [1], [2], [3], [4]]);
});

test("what of a row the database must know", () => {
  const failed = { kind: "attempt_failed", step: "a\0", direction: "forward" } as AttemptFailed;
  const parked: Entry = { kind: "parked", until: 1 };
  expect(rowFacts([failed])).toEqual({
    kind: "attempt_failed",
    step: "a\ufffd",
    loss: false,
    onlyLast: '["forward","a\\u0000"]',
  });
  expect(rowFacts([failed, parked]).onlyLast).toBe('["forward","a\\u0000"]');
  expect(rowFacts([{ ...failed, direction: "compensate" }]).onlyLast).toBe('["compensate","a\\u0000"]');
  expect(rowFacts([failed, { kind: "rollback_started", cause: "cancel" }]).onlyLast).toBeUndefined();
  expect(rowFacts([failed, parked, parked]).onlyLast).toBeUndefined();
  expect(rowFacts([parked])).toEqual({ kind: "parked", loss: false });
  expect(rowFacts([{ kind: "handed_over", worker: "w" }]).loss).toBe(true);
  expect(rowFacts([{ kind: "taken_up", worker: "w", token: "t", from: "s", crash: false }]).loss).toBe(true);
  expect(rowFacts([{ kind: "taken_up", worker: "w", token: "t", crash: false }]).loss).toBe(false);
});
