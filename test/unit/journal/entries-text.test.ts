import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import { recordError } from "../../../src/errors/error-record.js";
import { isSagaError } from "../../../src/errors/saga-error.js";
import { readEntries, writeEntries } from "../../../src/journal/entries-text.js";

describe("a row's entries", () => {
  it("come back as they were, frozen, with their values unread", () => {
    const entries: Entry[] = [
      { kind: "step_completed", step: "a", output: { format: "x", text: "\u0000\ud800" }, attempt: 1 },
      { kind: "step_failed", step: "b", attempts: 2, error: recordError(new Error("no")), doubt: "definite" },
    ];
    const back = readEntries(writeEntries(entries));
    expect(back).toEqual(entries);
    for (const part of [back, back[0], (back[0] as any).output, (back[1] as any).error])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it("are ASCII-safe where text is not: no NUL and no half of a surrogate pair in what is stored", () => {
    const text = writeEntries([{ kind: "cancel_requested", by: "a\u0000\ud800" }]);
    expect(text).not.toMatch(/\0|\p{Surrogate}/u);
  });

  it("leave out what is undefined", () => {
    const text = writeEntries([{ kind: "cancel_requested", by: "ana", reason: undefined as never }]);
    expect(readEntries(text)).toEqual([{ kind: "cancel_requested", by: "ana" }]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("can't hold %s, which would come back as null", (until) => {
    expect(() => writeEntries([{ kind: "parked", until }])).toThrow(/"until"/);
  });

  it.each(["", "[", "{}", "null", "[1]", "[null]", '[{"step":"a"}]', '[{"kind":1}]'])(
    "that can't be read are told as such: %j",
    (text) => {
      try {
        readEntries(text);
        expect.unreachable();
      } catch (error) {
        expect(isSagaError(error, "journal.unreadable")).toBe(true);
      }
    },
  );

  it("named __proto__ reach no prototype (SER-11)", () => {
    readEntries('[{"kind":"retried","by":"a","__proto__":{"admin":true}}]');
    expect(({} as any).admin).toBeUndefined();
  });
});
