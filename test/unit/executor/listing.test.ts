import { describe, expect, test } from "vitest";
import { listRuns } from "../../../src/executor/listing.js";
import type { Journal, RunLine, RunQuery } from "../../../src/journal/journal.js";

const shape = { steps: [] };

/** A journal with `count` live runs, 1 the newest; those whose number `isBlocked` says are of a saga that nobody has. */
function runs(count: number, isBlocked: (n: number) => boolean) {
  const lines = Array.from({ length: count }, (_, index): RunLine => {
    const saga = isBlocked(index + 1) ? "gone" : "known";
    return { runId: String(index + 1), saga, version: 1, shape, status: "running", owed: [], createdAt: 0 };
  });
  const queries: RunQuery[] = [];
  const list: Journal["list"] = async (query) => {
    queries.push(query);
    const from = Number(query.cursor ?? 0);
    const page = lines.slice(from, from + query.limit);
    return page.length < query.limit ? { lines: page } : { lines: page, cursor: String(from + page.length) };
  };
  const availability = (run: { saga: string }) => (run.saga === "gone" ? ["no saga"] : []);
  const page = (status: "blocked" | "running", limit: number, cursor?: string) =>
    listRuns({ list } as Journal, availability, { status, limit, cursor });
  const walk = async (status: "blocked" | "running", limit: number) => {
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const next = await page(status, limit, cursor);
      pages.push(next.runs.map(({ id }) => id));
      ({ cursor } = next);
    } while (cursor !== undefined);
    return pages;
  };
  return { page, walk, queries };
}

describe("a list by a derived status", () => {
  test("finds them all, in pages of the size asked for, each once", async () => {
    const few = runs(500, (n) => n % 70 === 0);
    expect(await few.walk("blocked", 3)).toEqual([["70", "140", "210"], ["280", "350", "420"], ["490"]]);
    const most = runs(25, (n) => n % 5 === 0);
    const pages = await most.walk("running", 4);
    expect(pages.flat()).toEqual(
      Array.from({ length: 25 }, (_, index) => String(index + 1)).filter((n) => Number(n) % 5 !== 0),
    );
    expect(pages.every((page) => page.length <= 4)).toBe(true);
  });

  test("a page ends where it is full, also when many were found at once after few", async () => {
    const pages = await runs(300, (n) => n > 100 && n <= 107).walk("blocked", 3);
    expect(pages).toEqual([["101", "102", "103"], ["104", "105", "106"], ["107"]]);
  });

  test("looks at many lines at once while few are wanted", async () => {
    const { page, queries } = runs(5_000, (n) => n === 4_900);
    expect((await page("blocked", 1)).runs.map(({ id }) => id)).toEqual(["4900"]);
    expect(queries.length).toBeLessThan(16);
    expect(Math.max(...queries.map(({ limit }) => limit))).toBe(1_000);
  });

  test("asks the rows for what `blocked` may be stored as", async () => {
    const { page, queries } = runs(1, () => true);
    expect((await page("blocked", 5)).runs).toMatchObject([{ id: "1", status: "blocked" }]);
    expect(queries[0]!.status).toEqual(["pending", "running", "waiting", "compensating"]);
    expect((await page("running", 5)).runs).toEqual([]);
  });

  test("an ended run is not blocked, whoever is there", async () => {
    const ended: RunLine = {
      runId: "1",
      saga: "gone",
      version: 1,
      shape,
      status: "completed",
      owed: [],
      createdAt: 0,
      endedAt: 5,
    };
    const list = async () => ({ lines: [ended] });
    const page = await listRuns({ list } as unknown as Journal, () => ["no saga"], { limit: 5 });
    expect(page).toEqual({
      runs: [
        {
          id: "1",
          saga: "gone",
          version: 1,
          status: "completed",
          owed: [],
          createdAt: new Date(0),
          endedAt: new Date(5),
        },
      ],
    });
  });
});
