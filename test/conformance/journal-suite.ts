// WHAT EVERY JOURNAL HAS TO DO, said once and run on each. A journal that passes can stand under any executor.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AttemptFailed, Entry, StoredValue, TakenUp } from "../../src/core/entry.js";
import type { Projection } from "../../src/core/projection.js";
import type { Shape } from "../../src/definition/shape.js";
import { recordError } from "../../src/errors/error-record.js";
import { isSagaError } from "../../src/errors/saga-error.js";
import { encodeValue } from "../../src/journal/codec.js";
import type { Journal, Offer, RunHeader, RunStart } from "../../src/journal/journal.js";

export interface OpenJournal {
  readonly journal: Journal;
  /** The same record through another door: another process's connection. Default: the same journal. */
  readonly other?: Journal;
  /** A worker that may own runs. Default "1". */
  readonly worker?: string;
  readonly close?: () => Promise<void>;
}

const shape: Shape = {
  steps: [
    { name: "reserve", kind: "compensatable", undone: true, transactional: false },
    { name: "pay", kind: "pivot", undone: false, transactional: false },
  ],
};

let ids = 0;
const fresh = (what: string) => `${what}-${process.pid}-${Date.now()}-${++ids}`;

/** Describes the suite. `open` gives a journal that nobody else writes to. */
export function describeJournal(name: string, open: () => Promise<OpenJournal>): void {
  describe(`the journal ${name}`, () => {
    let opened: OpenJournal;
    let journal: Journal;
    let other: Journal;
    let worker: string;

    beforeAll(async () => {
      opened = await open();
      ({ journal } = opened);
      other = opened.other ?? journal;
      worker = opened.worker ?? "1";
    });
    afterAll(() => opened.close?.());

    const started = (over: Partial<RunStart> = {}): RunStart => ({
      runId: fresh("run"),
      saga: "order",
      version: 1,
      shape,
      input: encodeValue({ orderId: "o-1" }),
      inputDigest: "digest",
      priority: 0,
      ...over,
    });
    const begin = async (over: Partial<RunStart> = {}) => (await journal.start(started(over))).header;
    const takenUp = (over: Partial<TakenUp> = {}): TakenUp => ({
      kind: "taken_up",
      worker,
      token: fresh("token"),
      crash: false,
      ...over,
    });
    const completed = (text = "-1"): Entry => ({
      kind: "step_completed",
      step: "reserve",
      output: { format: "devalue", text },
      attempt: 1,
    });
    const offer = (
      header: RunHeader,
      number: number,
      entries: readonly Entry[] = [completed()],
      over: Partial<Offer> = {},
    ): Offer => ({
      header,
      number,
      nonce: fresh("nonce"),
      writer: "writer",
      entries,
      ...over,
    });
    const numbers = async (header: RunHeader, of: Journal = journal) =>
      (await of.rowsAfter(header, 0)).map((row) => row.number);

    describe("starting", () => {
      it("records what was started, and gives it back to whoever loads it", async () => {
        const start = started({ input: encodeValue({ at: new Date(5), big: 10n }), priority: 60, version: 7 });
        const { header, created, row } = await journal.start(start);
        expect([created, row]).toEqual([true, undefined]);
        expect(header).toMatchObject(start);
        expect(header.startAt).toBe(header.createdAt);
        expect(await other.load(start.runId)).toEqual({ header, rows: [] });
      });

      it("keeps a later start", async () => {
        const startAt = journal.now() + 86_400_000;
        const { header } = await journal.start(started({ startAt }));
        expect(header.startAt).toBe(startAt);
        expect((await other.load(header.runId))?.header.startAt).toBe(startAt);
      });

      it("by the journal's clock", async () => {
        const before = journal.now();
        const { createdAt } = await begin();
        expect(createdAt).toBeGreaterThanOrEqual(Math.floor(before) - 1);
        expect(createdAt).toBeLessThanOrEqual(Math.ceil(journal.now()) + 1);
      });

      it("the same id again gives the run that exists, whatever it is of (IDM-1)", async () => {
        const first = await journal.start(started());
        const again = await other.start(
          started({ runId: first.header.runId, saga: "another", version: 9, inputDigest: "other" }),
        );
        expect(again).toEqual({ header: first.header, created: false });
      });

      it("50 starts at once make one run, and one of them made it (IDM-3)", async () => {
        const start = started();
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? journal : other).start(start)),
        );
        expect(answers.filter((answer) => answer.created)).toHaveLength(1);
        expect(new Set(answers.map((answer) => answer.header.key)).size).toBe(1);
        expect(await numbers(answers[0]!.header)).toEqual([]);
      });

      it("with a taking up writes run and first row together", async () => {
        const entry = takenUp();
        const { header, created, row } = await journal.start(started(), { entry, nonce: "first" });
        expect(created).toBe(true);
        expect(row).toMatchObject({ number: 1, nonce: "first", entries: [entry] });
        expect((await other.load(header.runId))?.rows).toEqual([row]);
        expect(await other.append(offer(header, 1))).toEqual({ kind: "taken" });
      });

      it("with a taking up of a run that exists writes nothing", async () => {
        const header = await begin();
        const again = await journal.start(started({ runId: header.runId }), { entry: takenUp(), nonce: "late" });
        expect(again).toEqual({ header, created: false });
        expect(await numbers(header)).toEqual([]);
      });

      it("of 20 at once with a taking up, exactly one owns the run", async () => {
        const start = started();
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, index) => journal.start(start, { entry: takenUp(), nonce: `nonce ${index}` })),
        );
        expect(answers.filter((answer) => answer.created && answer.row !== undefined)).toHaveLength(1);
        expect(await numbers(answers[0]!.header)).toEqual([1]);
      });

      it("a run that nobody started is not found", async () => {
        expect(await journal.load(fresh("nobody"))).toBeUndefined();
      });
    });

    describe("appending", () => {
      it("numbers rows 1, 2, 3 without gaps, in the order of their times", async () => {
        const header = await begin();
        for (let number = 1; number <= 12; number += 1)
          expect(await journal.append(offer(header, number))).toMatchObject({ kind: "appended", row: { number } });
        const rows = await other.rowsAfter(header, 0);
        expect(rows.map((row) => row.number)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
        expect(rows.map((row) => row.at)).toEqual(rows.map((row) => row.at).sort((a, b) => a - b));
      });

      it("answers with the row as it was stored", async () => {
        const header = await begin();
        const entries: Entry[] = [completed(), { kind: "pivot_entered", step: "pay" }];
        const answer = await journal.append(offer(header, 1, entries, { nonce: "n" }));
        expect(answer).toMatchObject({ kind: "appended", row: { number: 1, nonce: "n", entries } });
        expect(await other.rowsAfter(header, 0)).toEqual([answer.kind === "appended" && answer.row]);
      });

      it("at a number that is taken writes nothing", async () => {
        const header = await begin();
        await journal.append(offer(header, 1, [completed("1")]));
        await journal.append(offer(header, 2, [completed("2")]));
        for (const number of [1, 2])
          expect(await other.append(offer(header, number, [completed("3")]))).toEqual({ kind: "taken" });
        const rows = await journal.rowsAfter(header, 0);
        expect(rows.map((row) => row.entries)).toEqual([[completed("1")], [completed("2")]]);
      });

      it("a refused row takes the end that it carried with it", async () => {
        const header = await begin();
        await journal.append(offer(header, 1));
        const finished: Entry[] = [{ kind: "finished", status: "completed" }];
        expect(await journal.append(offer(header, 1, finished, { projection: ended("completed") }))).toEqual({
          kind: "taken",
        });
        expect(await line(header)).toMatchObject({ status: "pending" });
      });

      it("the same offer again is appended once, and appended is what it is told", async () => {
        const header = await begin();
        const same = offer(header, 1);
        const first = await journal.append(same);
        await journal.append(offer(header, 2));
        expect(await other.append(same)).toEqual(first);
        expect(await numbers(header)).toEqual([1, 2]);
      });

      it("of 50 rows offered at one number exactly one wins, and is what is read", async () => {
        const header = await begin();
        const offers = Array.from({ length: 50 }, (_, index) => offer(header, 1, [completed(String(index))]));
        const answers = await Promise.all(
          offers.map((each, index) => (index % 2 === 0 ? journal : other).append(each)),
        );
        const won = answers.flatMap((answer) => (answer.kind === "appended" ? [answer.row] : []));
        expect(won).toHaveLength(1);
        expect(await journal.rowsAfter(header, 0)).toEqual(won);
        expect(offers.map((each) => each.nonce)).toContain(won[0]!.nonce);
      });

      it("writers that read again and offer again all get in, one number each", async () => {
        const header = await begin();
        const write = async (through: Journal, mark: number) => {
          let last = 0;
          while ((await through.append(offer(header, last + 1, [completed(String(mark))]))).kind === "taken")
            last = (await through.rowsAfter(header, last)).at(-1)!.number;
        };
        await Promise.all(Array.from({ length: 10 }, (_, mark) => write(mark % 2 === 0 ? journal : other, mark)));
        const rows = await journal.rowsAfter(header, 0);
        expect(rows.map((row) => row.number)).toEqual(Array.from({ length: 10 }, (_, index) => index + 1));
        expect(rows.flatMap((row) => row.entries.map(textOf)).sort()).toEqual([..."0123456789"]);
      });

      it("runs do not stand in each other's way", async () => {
        const headers = await Promise.all(Array.from({ length: 30 }, () => begin()));
        const answers = await Promise.all(
          headers.map((header) => journal.append(offer(header, 1, [completed(JSON.stringify(header.runId))]))),
        );
        expect(answers.every((answer) => answer.kind === "appended")).toBe(true);
        for (const header of headers)
          expect((await other.rowsAfter(header, 0))[0]!.entries).toEqual([completed(JSON.stringify(header.runId))]);
      });

      it("to a run that is not there is refused as such", async () => {
        const header = { ...(await begin()), key: "999999999999" };
        const error = await journal
          .append(offer(header, 1, undefined, { projection: ended("completed") }))
          .catch((thrown: unknown) => thrown);
        expect(isSagaError(error, "run.not_found")).toBe(true);
      });
    });

    describe("reading", () => {
      it("gives the rows after a number, oldest first", async () => {
        const header = await begin();
        for (let number = 1; number <= 12; number += 1) await journal.append(offer(header, number));
        expect((await other.rowsAfter(header, 9)).map((row) => row.number)).toEqual([10, 11, 12]);
        expect((await other.load(header.runId, 11))?.rows.map((row) => row.number)).toEqual([12]);
        expect(await other.rowsAfter(header, 12)).toEqual([]);
      });

      it("what was read can't change what is stored", async () => {
        const header = await begin();
        const entries = [completed()];
        await journal.append(offer(header, 1, entries));
        (entries as unknown[]).push("later");
        const read: any = (await journal.rowsAfter(header, 0))[0];
        try {
          read.entries[0].step = "changed";
          read.entries.push("more");
        } catch {
          // Frozen is fine.
        }
        expect((await journal.rowsAfter(header, 0))[0]!.entries).toEqual([completed()]);
      });

      it("may leave out failed attempts that a later one stands for, and nothing else", async () => {
        const header = await begin();
        const failed = (attempt: number, over: Partial<AttemptFailed> = {}): Entry => ({
          ...{
            kind: "attempt_failed",
            step: "reserve",
            direction: "forward",
            attempt,
            attempts: attempt,
            counted: true,
          },
          ...{ failures: attempt, error: recordError("boom"), doubt: true, final: false, retryAt: 0, ...over },
        });
        const rows: Entry[][] = [
          [takenUp()],
          [failed(1)],
          [failed(2), { kind: "parked", until: 5 }],
          [takenUp({ from: "lost", crash: true })],
          [failed(3, { step: "pay" })],
          [failed(3)],
          [failed(1, { direction: "compensate" })],
          [failed(4)],
          [failed(5), { kind: "rollback_started", cause: "failure" }],
          [failed(6)],
        ];
        for (const [index, entries] of rows.entries()) await journal.append(offer(header, index + 1, entries));
        const read = await numbers(header, other);
        // 2 is told again by 3; 6 and 8 by 10. Row 4 lost an owner: what was before it stays.
        for (const number of [1, 3, 4, 5, 7, 9, 10]) expect(read).toContain(number);
      });
    });

    describe("values", () => {
      const texts: [string, string][] = [
        ["NUL (SER-7)", encodeValue({ t: "a\u0000b", "k\u0000": 1 }).text],
        ["a NUL in the text itself, as a codec may write it (SER-7)", "\u0000raw\u0000"],
        ["half of a surrogate pair (SER-9)", "\ud800 and \udc00"],
        ["quotes, backslashes and line separators", '"\\\n\u2028</script>\\u0000'],
        ["text beyond the basic plane", "😀 é ß 漢"],
        ["nothing", ""],
        ["0.9 MiB", "x".repeat(943_718)],
        ["0.9 MiB of three bytes each", "漢".repeat(314_572)],
      ];

      it.each(texts)("come back untouched: %s", async (_name, text) => {
        const value: StoredValue = { format: "some format", text };
        const header = await begin({ input: value });
        const entries: Entry[] = [{ kind: "step_completed", step: "reserve", output: value, attempt: 1 }];
        const answer = await journal.append(offer(header, 1, entries));
        expect(answer.kind === "appended" && answer.row.entries).toEqual(entries);
        const loaded = await other.load(header.runId);
        expect(loaded?.header.input).toEqual(value);
        expect(loaded?.rows[0]?.entries).toEqual(entries);
      });

      it("so do an operator's words and an error, whatever is in them", async () => {
        const header = await begin();
        const entries: Entry[] = [
          { kind: "cancel_requested", by: "ana\u0000@shop", reason: "\ud800 '; drop table runs; --" },
          {
            kind: "step_failed",
            step: "reserve",
            attempts: 1,
            error: recordError(new Error("a\u0000\ud800")),
            doubt: "definite",
          },
        ];
        await journal.append(offer(header, 1, entries));
        expect((await other.rowsAfter(header, 0))[0]!.entries).toEqual(entries);
      });

      it("a number that JSON can't hold is refused, and nothing is written", async () => {
        const header = await begin();
        await expect(
          journal.append(offer(header, 1, [{ kind: "parked", until: Number.POSITIVE_INFINITY }])),
        ).rejects.toThrow(RangeError);
        expect(await numbers(header)).toEqual([]);
      });

      it("a row that holds the large output of a step and the end is taken whole", async () => {
        const header = await begin();
        const output: StoredValue = { format: "devalue", text: JSON.stringify(["y".repeat(900_000)]) };
        const entries: Entry[] = [completed(), { kind: "finished", status: "completed", output }];
        await journal.append(offer(header, 1, entries, { projection: ended("completed") }));
        expect((await other.rowsAfter(header, 0))[0]!.entries).toEqual(entries);
        expect(await line(header)).toMatchObject({ status: "completed" });
      });
    });

    describe("listing", () => {
      it("shows each run as its last projection says", async () => {
        const saga = fresh("saga");
        const header = await begin({ saga });
        const shown = async () => (await journal.list({ saga, limit: 10 })).lines[0]!;
        expect(await shown()).toMatchObject({
          runId: header.runId,
          saga,
          version: 1,
          shape,
          status: "pending",
          owed: [],
          createdAt: header.createdAt,
        });
        const token = fresh("token");
        await journal.append(
          offer(header, 1, [takenUp({ token })], {
            writer: token,
            projection: { ...live, status: "running", claim: "owned", owner: token },
          }),
        );
        expect((await shown()).status).toBe("running");
        await journal.append(offer(header, 2, [completed()], { writer: token }));
        expect((await shown()).status).toBe("running");
        const asked: Entry = { kind: "cancel_requested", by: "ana" };
        const cancelRequestedAt = Math.floor(journal.now());
        await journal.append(
          offer(header, 3, [asked], {
            projection: { ...live, status: "running", claim: "owned", owner: token, cancelRequestedAt },
          }),
        );
        expect((await shown()).cancelRequestedAt).toEqual(expect.any(Number));
        const end = { ...ended("compensation_failed"), owed: ["reserve"], cancelRequestedAt };
        await journal.append(
          offer(header, 4, [{ kind: "finished", status: "compensation_failed" }], { writer: token, projection: end }),
        );
        const last = await shown();
        expect(last).toMatchObject({ status: "compensation_failed", owed: ["reserve"], endedAt: expect.any(Number) });
        expect(last.endedAt).toBeGreaterThanOrEqual(header.createdAt);
        expect(last.cancelRefusedAt).toBeUndefined();
      });

      it("shows a run that began with its start as running, and a reopened one as live", async () => {
        const saga = fresh("saga");
        const { header } = await journal.start(started({ saga }), { entry: takenUp(), nonce: "first" });
        expect((await journal.list({ saga, limit: 1 })).lines[0]).toMatchObject({ status: "running" });
        await journal.append(
          offer(header, 2, [{ kind: "finished", status: "in_doubt" }], { projection: ended("in_doubt") }),
        );
        await journal.append(
          offer(header, 3, [{ kind: "retried", by: "ana" }], { projection: { ...live, status: "running" } }),
        );
        const reopened = (await journal.list({ saga, limit: 1 })).lines[0]!;
        expect(reopened.status).toBe("running");
        expect(reopened.endedAt).toBeUndefined();
      });

      it("pages through all runs once, newest first, while others are started", async () => {
        const saga = fresh("saga");
        const wanted: string[] = [];
        for (let index = 0; index < 5; index += 1) wanted.unshift((await begin({ saga })).runId);
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await journal.list({ saga, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
          expect(page.lines.length).toBeLessThanOrEqual(2);
          seen.push(...page.lines.map((each) => each.runId));
          cursor = page.cursor;
          await begin({ saga });
        } while (cursor !== undefined);
        expect(seen).toEqual(wanted);
      });

      it("by status and saga", async () => {
        const saga = fresh("saga");
        const [first, second] = [await begin({ saga }), await begin({ saga })];
        await journal.append(
          offer(first, 1, [{ kind: "finished", status: "cancelled" }], { projection: ended("cancelled") }),
        );
        const ids = async (status: readonly Projection["status"][]) =>
          (await journal.list({ saga, status, limit: 9 })).lines.map((each) => each.runId);
        expect(await ids(["cancelled"])).toEqual([first.runId]);
        expect(await ids(["pending", "cancelled"])).toEqual([second.runId, first.runId]);
        expect(await ids(["failed"])).toEqual([]);
        expect((await journal.list({ saga: fresh("no saga"), limit: 9 })).lines).toEqual([]);
      });

      it("refuses a cursor that it never gave", async () => {
        for (const cursor of ["", "x", "1; drop table runs", "-1"]) {
          const error = await journal.list({ limit: 1, cursor }).catch((thrown: unknown) => thrown);
          expect(isSagaError(error, "cursor.invalid")).toBe(true);
        }
      });
    });

    async function line(header: RunHeader) {
      const { lines } = await journal.list({ limit: 1_000 });
      return lines.find((each) => each.runId === header.runId);
    }
  });
}

const live: Projection = { status: "pending", claim: "free", dueAt: 0, crashes: 0, owed: [] };

function ended(status: Projection["status"]): Projection {
  return { ...live, status, claim: "ended" };
}

function textOf(entry: Entry): string {
  return entry.kind === "step_completed" ? entry.output.text : "";
}
