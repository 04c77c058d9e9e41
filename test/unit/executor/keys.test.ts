import { describe, expect, test } from "vitest";
import { keyOfCompensation, keyOfStep } from "../../../src/executor/keys.js";

describe("idempotency keys", () => {
  test("are runId/step and runId/step/compensate; a tenant's begin with it and end in a slash", () => {
    expect(keyOfStep({ runId: "o-1" }, "charge")).toBe("o-1/charge");
    expect(keyOfCompensation({ runId: "o-1" }, "charge")).toBe("o-1/charge/compensate");
    expect(keyOfStep({ tenant: "acme", runId: "o-1" }, "charge")).toBe("acme/o-1/charge/");
    expect(keyOfCompensation({ tenant: "acme", runId: "o-1" }, "charge")).toBe("acme/o-1/charge/compensate/");
  });

  test("TEN-1: no two runs share one, whatever their tenants and ids", () => {
    const names = ["a", "b", "a/b", "a/", "/", "%2F", "a%2Fb", "a/b/", "b/c"];
    const keys = names.flatMap((runId) =>
      [undefined, ...names].flatMap((tenant) => {
        const run = tenant === undefined ? { runId } : { runId, tenant };
        return ["b", "c", "S"].flatMap((step) => [keyOfStep(run, step), keyOfCompensation(run, step)]);
      }),
    );
    expect(new Set(keys).size).toBe(keys.length);
  });
});
