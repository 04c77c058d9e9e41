// THE BENCHMARK OF WAITING RUNS in small, so that it goes on running: what it counts is asserted, what it times is not.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { CourseOptions, Measured } from "../../bench/waiting/course.js";
import { judge, type Line, tableOf } from "../../bench/waiting/limits.js";
import { runProgram } from "../docs/programs.js";

const folder = mkdtempSync(join(tmpdir(), "rubicon-bench-"));
afterAll(() => rmSync(folder, { recursive: true }));
const bench = (...args: string[]) => runProgram("bench/waiting/main.ts", args);

interface Report {
  readonly options: CourseOptions;
  readonly lines: readonly Line[];
  readonly measured: Measured;
}

const brokenOf = (lines: readonly Line[]) => lines.filter(({ holds }) => holds === false);

test("2,000 runs wait: the worker keeps nothing of them, looks read few pages, each signal is consumed once, a stop ends one", {
  timeout: 180_000,
}, async () => {
  const json = join(folder, "report.json");
  const { code, out, err } = await bench(
    "--runs",
    "2000",
    "--signals",
    "200",
    "--idle",
    "1",
    "--source",
    "--json",
    json,
  );
  expect([0, 1], err).toContain(code);
  const { options, lines, measured }: Report = JSON.parse(readFileSync(json, "utf8"));
  expect(brokenOf(lines).filter(({ unit }) => unit === "runs" || unit === "buffers")).toEqual([]);
  expect(lines.filter(({ unit, limit }) => unit === "buffers" && limit !== undefined)).toHaveLength(14);
  expect(measured.statuses).toEqual({ waiting: 1_799, completed: 200, cancelled: 1 });
  expect(measured.signals.verdicts).toEqual({ received: 200 });
  expect(measured.cancel).toMatchObject({ verdict: "cancelling", status: "cancelled" });
  expect(measured.kept.waiting.heapMb - measured.kept.empty.heapMb).toBeLessThan(5);
  expect(measured.idle.counted.claim.calls).toBeGreaterThan(0);
  expect(measured.idle.counted.promote.calls).toBeGreaterThan(0);
  expect(out).toBe(tableOf(lines));
  expect(code).toBe(brokenOf(lines).length > 0 ? 1 : 0);

  const slow = { ...measured, signals: { ...measured.signals, ms: 10_001 }, consumed: 199 };
  const told = brokenOf(judge(slow, options)).map(({ what }) => what);
  expect(told).toContain("200 signals are consumed and their runs ended");
  expect(told).toContain("runs that consumed one signal");
  expect(tableOf(judge(slow, options))).toMatch(/consumed one signal +199 runs +200 +BROKEN/);
});

test("called wrongly it says so, and measures nothing", async () => {
  for (const args of [
    ["--runs", "many"],
    ["--runs", "100", "--signals", "51"],
    ["--run", "10"],
  ])
    expect(await bench(...args)).toMatchObject({ code: 2, out: "", err: expect.stringMatching(/\S/) });
});
