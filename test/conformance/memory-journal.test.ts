import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/core/entry.js";
import { MemoryJournal } from "../../src/journal/memory-journal.js";
import { type Clock, systemClock } from "../../src/platform/clock.js";
import { systemChance } from "../../src/platform/ids.js";
import { describeJournal } from "./journal-suite.js";

const open = (clock: Clock = systemClock) => new MemoryJournal({ clock, chance: systemChance });

describeJournal("in memory", async () => ({ journal: open() }));

describe("the journal in memory, for tests", () => {
  const start = {
    runId: "run",
    saga: "order",
    version: 1,
    shape: { steps: [] },
    input: { format: "devalue", text: "-1" },
    inputDigest: "",
    priority: 0,
  };

  it("goes by the clock that it was given", async () => {
    let now = 1_000;
    const journal = open({ ...systemClock, now: () => now });
    const { header } = await journal.start(start);
    expect(header).toMatchObject({ createdAt: 1_000, startAt: 1_000 });
    now = 2_000;
    const offer = { header, number: 1, nonce: "n", writer: "w", entries: [] };
    expect(await journal.append(offer)).toMatchObject({ row: { at: 2_000 } });
  });

  it("refuses a number that would leave a gap: whoever offers it has not read the journal", async () => {
    const journal = open();
    const { header } = await journal.start(start);
    for (const number of [0, 2, 1.5, -1])
      await expect(journal.append({ header, number, nonce: "n", writer: "w", entries: [] })).rejects.toThrow(
        RangeError,
      );
    expect(await journal.rowsAfter(header, 0)).toEqual([]);
  });

  it("knows a start with the same first row again: its answer was lost", async () => {
    const journal = open();
    const first = { entry: { kind: "taken_up", worker: "w", token: "t", crash: false }, nonce: "n" } as const;
    const answer = await journal.start(start, first);
    expect(await journal.start(start, first)).toEqual(answer);
    expect(await journal.start(start, { ...first, nonce: "another" })).toEqual({
      header: answer.header,
      created: false,
    });
  });

  it("leaves out failed attempts that a later one stands for", async () => {
    const journal = open();
    const { header } = await journal.start(start);
    const failed: Entry = {
      ...{
        kind: "attempt_failed",
        step: "s",
        direction: "forward",
        attempt: 1,
        attempts: 1,
        counted: true,
        failures: 1,
      },
      ...{ error: { name: "E", message: "" }, doubt: true, final: false, retryAt: 0 },
    };
    const rows: readonly Entry[][] = [[failed], [failed], [{ kind: "handed_over", worker: "w" }], [failed], [failed]];
    for (const [index, entries] of rows.entries())
      await journal.append({ header, number: index + 1, nonce: `n${index}`, writer: "w", entries });
    const read = await journal.rowsAfter(header, 0);
    expect(read.map((row) => row.number)).toEqual([2, 3, 5]);
  });

  it("gives nothing that could be changed", async () => {
    const journal = open();
    const { header } = await journal.start(start);
    await journal.append({ header, number: 1, nonce: "n", writer: "w", entries: [{ kind: "retried", by: "ana" }] });
    const { rows } = (await journal.load("run"))!;
    for (const part of [header, header.shape, rows[0]!, rows[0]!.entries, rows[0]!.entries[0]!])
      expect(Object.isFrozen(part)).toBe(true);
  });
});
