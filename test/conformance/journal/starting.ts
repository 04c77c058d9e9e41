// HOW RUNS BEGIN in a journal: once per id, whoever starts them.

import { describe, expect, it } from "vitest";
import { encodeValue } from "../../../src/journal/codec.js";
import { fresh, type JournalBench } from "./bench.js";

export function describeStarting(on: JournalBench): void {
  describe("starting", () => {
    it("records what was started, and gives it back to whoever loads it", async () => {
      const start = on.started({ input: encodeValue({ at: new Date(5), big: 10n }), priority: 60, version: 7 });
      const { header, created, row } = await on.journal.start(start);
      expect([created, row]).toEqual([true, undefined]);
      expect(header).toMatchObject(start);
      expect(header.startAt).toBe(header.createdAt);
      expect(await on.other.load(start.runId)).toEqual({ header, rows: [] });
    });

    it("keeps a later start", async () => {
      const startAt = on.journal.now() + 86_400_000;
      const { header } = await on.journal.start(on.started({ startAt }));
      expect(header.startAt).toBe(startAt);
      expect((await on.other.load(header.runId))?.header.startAt).toBe(startAt);
    });

    it("by the journal's clock", async () => {
      const before = on.journal.now();
      const { createdAt } = await on.begin();
      expect(createdAt).toBeGreaterThanOrEqual(Math.floor(before) - 1);
      expect(createdAt).toBeLessThanOrEqual(Math.ceil(on.journal.now()) + 1);
    });

    it("the same id again gives the run that exists, whatever it is of (IDM-1)", async () => {
      const first = await on.journal.start(on.started());
      const again = await on.other.start(
        on.started({ runId: first.header.runId, saga: "another", version: 9, inputDigest: "other" }),
      );
      expect(again).toEqual({ header: first.header, created: false });
    });

    it("50 starts at once make one run, and one of them made it (IDM-3)", async () => {
      const start = on.started();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? on.journal : on.other).start(start)),
      );
      expect(answers.filter((answer) => answer.created)).toHaveLength(1);
      expect(new Set(answers.map((answer) => answer.header.key)).size).toBe(1);
      expect(await on.numbers(answers[0]!.header)).toEqual([]);
    });

    it("with a taking up writes run and first row together", async () => {
      const entry = on.takenUp();
      const { header, created, row } = await on.journal.start(on.started(), { entry, nonce: "first" });
      expect(created).toBe(true);
      expect(row).toMatchObject({ number: 1, nonce: "first", entries: [entry] });
      expect((await on.other.load(header.runId))?.rows).toEqual([row]);
      expect(await on.other.append(on.offer(header, 1))).toEqual({ kind: "taken" });
    });

    it("with a taking up of a run that exists writes nothing", async () => {
      const header = await on.begin();
      const again = await on.journal.start(on.started({ runId: header.runId }), { entry: on.takenUp(), nonce: "late" });
      expect(again).toEqual({ header, created: false });
      expect(await on.numbers(header)).toEqual([]);
    });

    it("of 20 at once with a taking up, exactly one owns the run", async () => {
      const start = on.started();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          on.journal.start(start, { entry: on.takenUp(), nonce: `nonce ${index}` }),
        ),
      );
      expect(answers.filter((answer) => answer.created && answer.row !== undefined)).toHaveLength(1);
      expect(await on.numbers(answers[0]!.header)).toEqual([1]);
    });

    it("a run that nobody started is not found", async () => {
      expect(await on.journal.load(fresh("nobody"))).toBeUndefined();
    });
  });
}
