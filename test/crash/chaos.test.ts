// The storm in small: `npm run chaos` is the long one.

import { expect, test } from "vitest";
import { chaos } from "../chaos/chaos.js";

test("in a storm of kills, restarts and Stops every run ends, the rules hold, and the money adds up to the cent", async () => {
  const report = await chaos({ seconds: 30, runs: 200, restarts: 2 });
  expect(report.faults).toEqual([]);
  expect(report.kills).toBeGreaterThan(2);
  expect(report.restarts).toBe(2);
  expect(Object.values(report.statuses).reduce((sum, count) => sum + count, 0)).toBe(200);
}, 240_000);
