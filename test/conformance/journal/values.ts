// VALUES pass through a journal untouched, whatever is in them.

import { describe, expect, it } from "vitest";
import type { Entry, StoredValue } from "../../../src/core/entry.js";
import { recordError } from "../../../src/errors/error-record.js";
import { encodeValue } from "../../../src/journal/codec.js";
import { completed, ended, type JournalBench } from "./bench.js";

export function describeValues(on: JournalBench): void {
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
      const header = await on.begin({ input: value });
      const entries: Entry[] = [{ kind: "step_completed", step: "reserve", output: value, attempt: 1 }];
      const answer = await on.journal.append(on.offer(header, 1, entries));
      expect(answer.kind === "appended" && answer.row.entries).toEqual(entries);
      const loaded = await on.other.load(header.runId);
      expect(loaded?.header.input).toEqual(value);
      expect(loaded?.rows[0]?.entries).toEqual(entries);
    });

    it("so do an operator's words and an error, whatever is in them", async () => {
      const header = await on.begin();
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
      await on.journal.append(on.offer(header, 1, entries));
      expect((await on.other.rowsAfter(header, 0))[0]!.entries).toEqual(entries);
    });

    it("a number that JSON can't hold is refused, and nothing is written", async () => {
      const header = await on.begin();
      await expect(
        on.journal.append(on.offer(header, 1, [{ kind: "parked", until: Number.POSITIVE_INFINITY }])),
      ).rejects.toThrow(RangeError);
      expect(await on.numbers(header)).toEqual([]);
    });

    it("a row that holds the large output of a step and the end is taken whole", async () => {
      const header = await on.begin();
      const output: StoredValue = { format: "devalue", text: JSON.stringify(["y".repeat(900_000)]) };
      const entries: Entry[] = [completed(), { kind: "finished", status: "completed", output }];
      await on.journal.append(on.offer(header, 1, entries, { projection: ended("completed") }));
      expect((await on.other.rowsAfter(header, 0))[0]!.entries).toEqual(entries);
      expect(await on.line(header)).toMatchObject({ status: "completed" });
    });
  });
}
