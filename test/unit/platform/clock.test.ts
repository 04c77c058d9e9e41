import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/platform/clock.js";

const day = 86_400_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("the system's clock", () => {
  test("calls back once, not before its time", () => {
    const ring = vi.fn();
    systemClock.after(1_000, ring);
    vi.advanceTimersByTime(999);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(day);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test("ERR-9: a timer of 40 days, longer than Node's own, is made of several", () => {
    const ring = vi.fn();
    systemClock.after(40 * day, ring);
    vi.advanceTimersByTime(40 * day - 1);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("can be called off, also in a later part of a long wait", () => {
    const ring = vi.fn();
    systemClock.after(5, ring)();
    const cancel = systemClock.after(100 * day, ring);
    vi.advanceTimersByTime(60 * day);
    cancel();
    vi.advanceTimersByTime(100 * day);
    expect(ring).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("what lies in the past rings at once", () => {
    const ring = vi.fn();
    systemClock.after(-5, ring);
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
  });
});
