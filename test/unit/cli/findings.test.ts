// WHAT THE DOCTOR MAKES OF FACTS.

import { describe, expect, it } from "vitest";
import { journalFinding, overdueFinding, serverFindings, workerFindings } from "../../../src/cli/findings.js";
import type { WholeJournal, WorkerFacts } from "../../../src/store/examine.js";

const server = { version: "18.4", role: "app", database: "shop", readOnly: false, now: 0, mayMigrate: true };
const levels = (findings: readonly { level: string }[]) => findings.map(({ level }) => level);

describe("the server", () => {
  it("is well when it is new enough and takes writes", () => {
    expect(serverFindings(server)).toEqual([
      { topic: "connection", level: "good", text: "PostgreSQL 18.4, database shop, as app" },
    ]);
  });

  it("is not when it is too old, or read-only; a role that may not migrate is worth a note", () => {
    expect(levels(serverFindings({ ...server, version: "14.2", readOnly: true, mayMigrate: false }))).toEqual([
      "bad",
      "bad",
      "note",
    ]);
  });
});

describe("workers", () => {
  const now = 10_000_000;
  const worker: WorkerFacts = {
    id: "7",
    host: "h",
    pid: 42,
    registered: JSON.stringify([{ saga: "order", version: 2 }]),
    startedAt: now - 60_000,
    beatAt: now - 1_500,
    leaseUntil: now + 28_500,
    runs: 3,
  };
  const dead = { ...worker, id: "8", leaseUntil: now - 5_000, beatAt: now - 35_000 };

  it("that are alive are told with their beat, their runs and their sagas", () => {
    expect(workerFindings([worker], now)).toEqual([
      {
        topic: "workers",
        level: "good",
        text: "1 alive",
        details: ["worker 7 (h, process 42), beat 1.500s ago, 3 runs: order v2"],
      },
    ]);
    expect(workerFindings([{ ...worker, registered: "?" }], now)[0]?.details?.[0]).toMatch(/: \?$/);
  });

  it("that died with runs in hand are bad news only where nobody is there to take these over", () => {
    expect(levels(workerFindings([worker, dead], now))).toEqual(["good", "note"]);
    expect(levels(workerFindings([dead], now))).toEqual(["note", "bad"]);
  });

  it("that are gone for long are not worth a word", () => {
    const gone = { ...worker, runs: 0, deadAt: now - 2 * 3_600_000 };
    expect(levels(workerFindings([worker, gone], now))).toEqual(["good"]);
    expect(levels(workerFindings([worker, { ...gone, deadAt: now - 1 }], now))).toEqual(["good", "note"]);
  });
});

describe("overdue runs", () => {
  const limits = { now: 1_000_000, afterMs: 60_000, limit: 10 };

  it("are bad news, with the oldest one's name", () => {
    expect(overdueFinding({ count: 0 }, limits).level).toBe("good");
    expect(overdueFinding({ count: 10, oldest: { runId: "r", dueAt: 900_000 } }, limits)).toMatchObject({
      level: "bad",
      text: "10 or more due for over 1m 00s and taken up by nobody",
      details: ["the oldest, r, for 1m 40s"],
    });
  });
});

describe("journals", () => {
  const shape = JSON.stringify({ steps: [{ name: "a", kind: "compensatable", undone: true, transactional: false }] });
  const journal = (rows: readonly object[][], over: Partial<WholeJournal> = {}): WholeJournal => ({
    runId: "r",
    tenant: "",
    shape,
    rows: rows.map((entries, index) => ({
      number: index + 1,
      format: "entries",
      payload: JSON.stringify(entries),
      nonce: `n${index}`,
      at: index,
    })),
    ...over,
  });
  const taken = { kind: "taken_up", worker: "w", token: "t", crash: false };
  const done = { kind: "step_completed", step: "a", output: { format: "devalue", text: "[{}]" }, attempt: 1 };
  const end = { kind: "finished", status: "completed", output: done.output };

  it("that keep the rules are well", () => {
    expect(journalFinding([journal([[taken], [done, end]])])).toEqual({
      topic: "journals",
      level: "good",
      text: "the newest 1 keep all the rules",
    });
  });

  it("that break one are told with run, row and rule", () => {
    const finding = journalFinding([journal([[taken], [done], [done, end]])]);
    expect(finding.level).toBe("bad");
    expect(finding.details?.[0]).toMatch(/^r: row \d: .*\(1\.\d /);
  });

  it("that can't be read spoil no other", () => {
    const damaged = journal([[taken]], { rows: [{ number: 1, format: "entries", payload: "{", nonce: "n", at: 0 }] });
    const foreign = journal([[taken]], { rows: [{ number: 1, format: "future", payload: "", nonce: "n", at: 0 }] });
    const { shape: _shape, ...shapeless } = journal([[taken]]);
    expect(journalFinding([damaged, foreign, shapeless, journal([[taken], [done, end]])]).details).toEqual([
      expect.stringMatching(/^r: can't be read: /),
      'r: row 1 is written as "future", which this code can\'t read',
      "r: its shape is gone",
    ]);
  });
});
