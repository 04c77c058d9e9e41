// WHAT A JOURNAL GIVES BACK of a run: all that a fold needs, and nothing that could be changed.

import { describe, expect, it } from "vitest";
import type { AttemptFailed, Entry } from "../../../src/core/entry.js";
import { recordError } from "../../../src/errors/error-record.js";
import { completed, type JournalBench } from "./bench.js";

export function describeReading(on: JournalBench): void {
  describe("reading", () => {
    it("gives the rows after a number, oldest first", async () => {
      const header = await on.begin();
      for (let number = 1; number <= 12; number += 1) await on.journal.append(on.offer(header, number));
      expect((await on.other.rowsAfter(header, 9)).map((row) => row.number)).toEqual([10, 11, 12]);
      expect((await on.other.load(header.runId, 11))?.rows.map((row) => row.number)).toEqual([12]);
      expect(await on.other.rowsAfter(header, 12)).toEqual([]);
    });

    it("what was read can't change what is stored", async () => {
      const header = await on.begin();
      const entries = [completed()];
      await on.journal.append(on.offer(header, 1, entries));
      (entries as unknown[]).push("later");
      const read: any = (await on.journal.rowsAfter(header, 0))[0];
      try {
        read.entries[0].step = "changed";
        read.entries.push("more");
      } catch {
        // Frozen is fine.
      }
      expect((await on.journal.rowsAfter(header, 0))[0]!.entries).toEqual([completed()]);
    });

    it("may leave out failed attempts that a later one stands for, and nothing else", async () => {
      const header = await on.begin();
      const rows: Entry[][] = [
        [on.takenUp()],
        [failed(1)],
        [failed(2), { kind: "parked", until: 5 }],
        [on.takenUp({ from: "lost", crash: true })],
        [failed(3, { step: "pay" })],
        [failed(3)],
        [failed(1, { direction: "compensate" })],
        [failed(4)],
        [failed(5), { kind: "rollback_started", cause: "failure" }],
        [failed(6)],
      ];
      for (const [index, entries] of rows.entries()) await on.journal.append(on.offer(header, index + 1, entries));
      const read = await on.numbers(header, on.other);
      // 2 is told again by 3; 6 and 8 by 10. Row 4 lost an owner: what was before it stays.
      for (const number of [1, 3, 4, 5, 7, 9, 10]) expect(read).toContain(number);
    });

    it("gives a history every row, also those", async () => {
      const header = await on.begin();
      for (let number = 1; number <= 3; number += 1)
        await on.journal.append(on.offer(header, number, [failed(number)], { nonce: `n${number}` }));
      const rows = await on.other.allRows(header);
      expect(rows.map((row) => [row.number, row.nonce, row.entries])).toEqual(
        [1, 2, 3].map((number) => [number, `n${number}`, [failed(number)]]),
      );
    });
  });
}

function failed(attempt: number, over: Partial<AttemptFailed> = {}): Entry {
  return {
    ...{ kind: "attempt_failed", step: "reserve", direction: "forward", attempt, attempts: attempt, counted: true },
    ...{ failures: attempt, error: recordError("boom"), doubt: true, final: false, retryAt: 0, ...over },
  };
}
