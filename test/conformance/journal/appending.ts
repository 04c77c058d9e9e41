// WHO GETS THE NEXT NUMBER: rows are taken or refused whole.

import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { isSagaError } from "../../../src/errors/saga-error.js";
import type { Journal } from "../../../src/journal/journal.js";
import { completed, ended, type JournalBench, textOf } from "./bench.js";

export function describeAppending(on: JournalBench): void {
  describe("appending", () => {
    it("numbers rows 1, 2, 3 without gaps, in the order of their times", async () => {
      const header = await on.begin();
      for (let number = 1; number <= 12; number += 1)
        expect(await on.journal.append(on.offer(header, number))).toMatchObject({ kind: "appended", row: { number } });
      const rows = await on.other.rowsAfter(header, 0);
      expect(rows.map((row) => row.number)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
      expect(rows.map((row) => row.at)).toEqual(rows.map((row) => row.at).sort((a, b) => a - b));
    });

    it("answers with the row as it was stored", async () => {
      const header = await on.begin();
      const entries: Entry[] = [completed(), { kind: "pivot_entered", step: "pay" }];
      const answer = await on.journal.append(on.offer(header, 1, entries, { nonce: "n" }));
      expect(answer).toMatchObject({ kind: "appended", row: { number: 1, nonce: "n", entries } });
      expect(await on.other.rowsAfter(header, 0)).toEqual([answer.kind === "appended" && answer.row]);
    });

    it("at a number that is taken writes nothing", async () => {
      const header = await on.begin();
      await on.journal.append(on.offer(header, 1, [completed("1")]));
      await on.journal.append(on.offer(header, 2, [completed("2")]));
      for (const number of [1, 2])
        expect(await on.other.append(on.offer(header, number, [completed("3")]))).toEqual({ kind: "taken" });
      const rows = await on.journal.rowsAfter(header, 0);
      expect(rows.map((row) => row.entries)).toEqual([[completed("1")], [completed("2")]]);
    });

    it("a refused row takes the end that it carried with it", async () => {
      const header = await on.begin();
      await on.journal.append(on.offer(header, 1));
      const finished: Entry[] = [{ kind: "finished", status: "completed" }];
      expect(await on.journal.append(on.offer(header, 1, finished, { projection: ended("completed") }))).toEqual({
        kind: "taken",
      });
      expect(await on.line(header)).toMatchObject({ status: "pending" });
    });

    it("the same offer again is appended once, and appended is what it is told", async () => {
      const header = await on.begin();
      const same = on.offer(header, 1);
      const first = await on.journal.append(same);
      await on.journal.append(on.offer(header, 2));
      expect(await on.other.append(same)).toEqual(first);
      expect(await on.numbers(header)).toEqual([1, 2]);
    });

    it("of 50 rows offered at one number exactly one wins, and is what is read", async () => {
      const header = await on.begin();
      const offers = Array.from({ length: 50 }, (_, index) => on.offer(header, 1, [completed(String(index))]));
      const answers = await Promise.all(
        offers.map((each, index) => (index % 2 === 0 ? on.journal : on.other).append(each)),
      );
      const won = answers.flatMap((answer) => (answer.kind === "appended" ? [answer.row] : []));
      expect(won).toHaveLength(1);
      expect(await on.journal.rowsAfter(header, 0)).toEqual(won);
      expect(offers.map((each) => each.nonce)).toContain(won[0]!.nonce);
    });

    it("writers that read again and offer again all get in, one number each", async () => {
      const header = await on.begin();
      const write = async (through: Journal, mark: number) => {
        let last = 0;
        while ((await through.append(on.offer(header, last + 1, [completed(String(mark))]))).kind === "taken")
          last = (await through.rowsAfter(header, last)).at(-1)!.number;
      };
      await Promise.all(Array.from({ length: 10 }, (_, mark) => write(mark % 2 === 0 ? on.journal : on.other, mark)));
      const rows = await on.journal.rowsAfter(header, 0);
      expect(rows.map((row) => row.number)).toEqual(Array.from({ length: 10 }, (_, index) => index + 1));
      expect(rows.flatMap((row) => row.entries.map(textOf)).sort()).toEqual([..."0123456789"]);
    });

    it("runs do not stand in each other's way", async () => {
      const headers = await Promise.all(Array.from({ length: 30 }, () => on.begin()));
      const answers = await Promise.all(
        headers.map((header) => on.journal.append(on.offer(header, 1, [completed(JSON.stringify(header.runId))]))),
      );
      expect(answers.every((answer) => answer.kind === "appended")).toBe(true);
      for (const header of headers)
        expect((await on.other.rowsAfter(header, 0))[0]!.entries).toEqual([completed(JSON.stringify(header.runId))]);
    });

    it("to a run that is not there is refused as such", async () => {
      const header = { ...(await on.begin()), key: "999999999999" };
      const error = await on.journal
        .append(on.offer(header, 1, undefined, { projection: ended("completed") }))
        .catch((thrown: unknown) => thrown);
      expect(isSagaError(error, "run.not_found")).toBe(true);
    });
  });
}
