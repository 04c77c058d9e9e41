import { defineFunction } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import type { SagaDefinition } from "../../../src/definition/saga.js";
import { gate, until } from "../../support/until.js";
import { taken } from "./driven.js";

describe("a function that waits for what is none of its calls", () => {
  test("1.8: while it rolls back it waits quietly, though its deadline has passed", async () => {
    const foreign = gate();
    let begun = 0;
    let undone = 0;
    const compensate = () => {
      undone += 1;
    };
    const saga = defineFunction({
      name: "f",
      version: 1,
      maxDuration: "1s",
      run: async (_, d) => {
        begun += 1;
        await foreign.promise;
        await d.step("a", () => ({ a: 1 }), { compensate });
      },
    }) as unknown as SagaDefinition;
    const { drive, clock, write } = await taken(saga);
    await write({
      kind: "declared",
      units: [{ name: "a", kind: "compensatable", undone: true, transactional: false }],
    });
    await write({ kind: "step_completed", step: "a", attempt: 1, output: { format: "devalue", text: "-1" } });
    await clock.pass(1_000);
    await write({ kind: "rollback_started", cause: "deadline" });
    const driven = drive();
    driven.poke();
    await until("it is begun", () => begun === 1);
    await clock.pass(0);
    expect(clock.waits.every((ms) => ms > 0)).toBe(true);
    foreign.open();
    expect((await driven.end).state.finished?.status).toBe("timed_out");
    expect(undone).toBe(1);
  });
});
