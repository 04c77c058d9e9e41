// STEPS ARE FROZEN DATA, with defaults filled in. Their faults wait for `defineSaga`: see `define-saga.test.ts`.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AttemptPolicy } from "../../../src/definition/saga.js";
import { named, pivot, step } from "../../../src/definition/step.js";

const policy: AttemptPolicy = { execute: (body) => Promise.resolve(body({ signal: new AbortController().signal })) };

describe("a step", () => {
  it("has the documented defaults", () => {
    const run = () => ({});
    expect(step({ name: "plain", run })).toEqual({
      name: "plain",
      pivot: false,
      run,
      nothingToUndo: false,
      retry: {},
      compensationRetry: {},
      timeoutMs: 60_000,
      graceMs: 5_000,
      transaction: false,
    });
  });

  it("keeps all that it was given, with durations in milliseconds", () => {
    const given = {
      name: "full",
      run: () => ({ id: "x" }),
      compensate: () => {},
      reconcile: () => undefined,
      classifyError: () => ({ retryable: true, happened: "no" }) as const,
      output: z.object({ id: z.string() }),
      policy,
    };
    const full = step({
      ...given,
      retry: { maxAttempts: 3 },
      compensationRetry: { firstDelay: "1s" },
      timeout: Number.POSITIVE_INFINITY,
      grace: 0,
    });
    expect(full).toMatchObject({
      ...given,
      retry: { maxAttempts: 3 },
      compensationRetry: { firstDelayMs: 1_000 },
      timeoutMs: Number.POSITIVE_INFINITY,
      graceMs: 0,
    });
    expect(step({ name: "sql", transaction: true, nothingToUndo: true, run: () => {} })).toMatchObject({
      transaction: true,
      nothingToUndo: true,
    });
  });

  it("takes an option that is undefined as one that was not given", () => {
    const plain = step({ name: "plain", run: () => ({}), compensate: undefined, retry: undefined, timeout: undefined });
    expect(plain).not.toHaveProperty("compensate");
    expect(plain.timeoutMs).toBe(60_000);
  });

  it("is frozen, its retry options too", () => {
    const frozen = step({ name: "frozen", run: () => ({}), retry: { maxAttempts: 2 } });
    expect([frozen, frozen.retry, frozen.compensationRetry].every(Object.isFrozen)).toBe(true);
  });

  it("can be called like the plain function that it was made of", async () => {
    const reserve = step({ name: "reserve", run: async (order: { sku: string }) => ({ id: `r-${order.sku}` }) });
    expect(await reserve.run({ sku: "a" }, {})).toEqual({ id: "r-a" });
  });
});

describe("a pivot", () => {
  it("is a step that is marked", () => {
    expect(pivot({ name: "charge", run: () => ({}) })).toMatchObject({
      name: "charge",
      pivot: true,
      nothingToUndo: false,
    });
  });
});

describe("a step under another name", () => {
  const mail = step({ name: "mail", run: () => ({ id: "m" }), compensate: () => {}, timeout: "1s" });

  it("is the same step but for its name", () => {
    const { name, ...rest } = named(mail, "mail-billing");
    const { name: _original, ...original } = mail;
    expect(name).toBe("mail-billing");
    expect(rest).toEqual(original);
  });

  it("leaves the original as it was", () => {
    named(mail, "mail-billing", { into: "billing" });
    expect(mail.name).toBe("mail");
    expect(mail).not.toHaveProperty("into");
  });

  it("gives its output under a key of its own, and keeps that key when named once more", () => {
    const billing = named(mail, "mail-billing", { into: "billing" });
    expect(billing.into).toBe("billing");
    expect(named(billing, "mail-again").into).toBe("billing");
    expect(named(billing, "mail-shipping", { into: "shipping" }).into).toBe("shipping");
    expect(Object.isFrozen(billing)).toBe(true);
  });

  it("stays a pivot", () => {
    expect(named(pivot({ name: "charge", run: () => ({}) }), "charge-deposit").pivot).toBe(true);
  });
});
