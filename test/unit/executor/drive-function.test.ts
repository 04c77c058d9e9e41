import { defineFunction } from "rubicon-saga";
import { describe, expect, test } from "vitest";
import { initialState } from "../../../src/core/state.js";
import type { SagaDefinition } from "../../../src/definition/saga.js";
import { Replay } from "../../../src/executor/replay.js";
import { Values } from "../../../src/journal/codec.js";
import { silentLogger } from "../../../src/platform/log.js";
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

  test("2.3: what it asks for in the very moment in which it is looked at is not overlooked", async () => {
    const foreign = gate();
    const saga = defineFunction({
      name: "f",
      version: 1,
      run: async (_, d) => {
        await foreign.promise;
        await d.sleep("nap", 1);
      },
    }) as unknown as SagaDefinition;
    const { encode, decode } = new Values();
    const state = initialState(saga.shape, 0);
    let moved = 0;
    const replay = new Replay({
      driving: { logger: silentLogger, performTools: { decode, encode }, policies: {} } as any,
      run: { saga, header: { runId: "r1", input: encode({}) }, policies: {} } as any,
      begin: saga.function!,
      moved: () => {
        moved += 1;
      },
    });
    expect(await replay.goOn(state)).toBe(true);
    foreign.open();
    expect((await replay.goOn(state)) || moved > 0).toBe(true);
    replay.suspend(state);
  });
});

test("OP-9: how long a worker that stops has to wait is told by the calls in hand, which no list names", async () => {
  const hold = gate();
  const saga = defineFunction({
    name: "f",
    version: 1,
    run: (_, d) => d.step("a", () => hold.promise.then(() => ({})), { nothingToUndo: true, grace: "20s" }),
  }) as unknown as SagaDefinition;
  const { drive } = await taken(saga);
  const driven = drive();
  await until("a runs", () => driven.longestGraceMs > 0);
  expect(driven.longestGraceMs).toBe(20_000);
  hold.open();
  await driven.end;
  expect(driven.longestGraceMs).toBe(0);
});

test("2.3: a failed pivot that became a step leaves what comes after it to an operator, instead of waiting for ever", async () => {
  const saga = defineFunction({
    name: "f",
    version: 1,
    run: async (_, d) => {
      await d.step("P", () => ({}), { nothingToUndo: true });
      await d.step("a", () => ({}), { compensate: () => {} });
    },
  }) as unknown as SagaDefinition;
  const { drive, write } = await taken(saga);
  const unit = { transactional: false };
  await write({ kind: "declared", units: [{ ...unit, name: "a", kind: "compensatable", undone: true }] });
  await write({ kind: "step_completed", step: "a", attempt: 1, output: { format: "devalue", text: "-1" } });
  await write({ kind: "declared", units: [{ ...unit, name: "P", kind: "pivot", undone: false }] });
  await write({ kind: "pivot_entered", step: "P" });
  await write(
    { kind: "step_failed", step: "P", attempts: 1, error: { name: "Error", message: "no" }, doubt: "definite" },
    { kind: "rollback_started", cause: "failure" },
  );
  const driven = drive();
  driven.poke();
  expect((await driven.end).state.finished?.status).toBe("compensation_failed");
});
