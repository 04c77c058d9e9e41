import { expect, test } from "vitest";
import { inTime } from "../../../src/worker/in-time.js";
import { ManualClock } from "../../support/manual-clock.js";

const never = () => new Promise<never>(() => {});

test("an answer in time is the answer, and no timer is left behind", async () => {
  const clock = new ManualClock();
  expect(await inTime(Promise.resolve(1), { clock })).toBe(1);
  await expect(inTime(Promise.reject(new Error("no")), { clock })).rejects.toThrow("no");
  expect(clock.waits).toEqual([]);
});

test("without one it ends with a coded error; what comes later, good or bad, is nobody's", async () => {
  const clock = new ManualClock();
  const asked = expect(inTime(never(), { clock, ms: 50 })).rejects.toMatchObject({ code: "store.unavailable" });
  await clock.pass(50);
  await asked;
  let fail!: (error: Error) => void;
  const late = inTime(new Promise((_, reject) => (fail = reject)), { clock, ms: 50 }).catch((error) => error.code);
  await clock.pass(50);
  expect(await late).toBe("store.unavailable");
  fail(new Error("late"));
});
