// WHAT IS INFERRED THROUGH A DURABLE FUNCTION, and what does not compile.

import { expectTypeOf } from "vitest";
import { z } from "zod";
import { defineSaga, type InputOf, type OutputOf, type Saga } from "../../src/definition/define-saga.js";
import { step } from "../../src/definition/step.js";
import type { SagaExecutor } from "../../src/executor/executor.js";
import { defineFunction } from "../../src/functions/define-function.js";
import type { Durable } from "../../src/functions/durable.js";

declare const d: Durable;
declare const executor: SagaExecutor;

// A function is a saga: what it takes is its schema's, what it gives is what it returns.
const onboarding = defineFunction({
  name: "onboarding",
  version: 1,
  input: z.object({ email: z.string(), at: z.string().transform((text) => new Date(text)) }),
  run: async (input, calls) => {
    expectTypeOf(input).toEqualTypeOf<{ email: string; at: Date }>();
    expectTypeOf(calls).toEqualTypeOf<Durable>();
    return { sent: input.email };
  },
});
expectTypeOf(onboarding).toEqualTypeOf<Saga<{ email: string; at: string }, { sent: string }>>();
expectTypeOf(executor.execute(onboarding, { email: "", at: "" })).resolves.toEqualTypeOf<{ sent: string }>();
// @ts-expect-error no such input
executor.start(onboarding, { mail: "" });
// @ts-expect-error an input is a plain object
defineFunction({ name: "f", version: 1, input: z.string(), run: () => 1 });
const bare = defineFunction({ name: "bare", version: 1, run: () => 7 });
expectTypeOf<OutputOf<typeof bare>>().toEqualTypeOf<number>();
expectTypeOf<InputOf<typeof bare>>().toEqualTypeOf<Record<string, never> | undefined>();

// A step gives what its body does, or what its schema makes of it; so does its undoing.
const account = d.step("account", async ({ key }) => ({ id: key }), {
  compensate: (undo) => {
    if (undo.outcome === "done") expectTypeOf(undo.output).toEqualTypeOf<{ id: string }>();
    else expectTypeOf(undo.output).toEqualTypeOf<undefined>();
    expectTypeOf(undo.forwardKey).toEqualTypeOf<string>();
  },
});
expectTypeOf(account).resolves.toEqualTypeOf<{ id: string }>();
const parsed = d.step("parsed", () => ({ at: "2026" }), {
  output: z.object({ at: z.string().transform((text) => new Date(text)) }),
  compensate: (undo) => expectTypeOf(undo.output).toEqualTypeOf<{ at: Date } | undefined>(),
});
expectTypeOf(parsed).resolves.toEqualTypeOf<{ at: Date }>();
expectTypeOf(d.pivot("bill", () => 1)).resolves.toEqualTypeOf<number>();

// How it is undone has to be said, once.
// @ts-expect-error neither compensate nor nothingToUndo
d.step("s", () => 1);
// @ts-expect-error neither of them
d.step("s", () => 1, { timeout: "1s" });
// @ts-expect-error both of them
d.step("s", () => 1, { compensate: () => {}, nothingToUndo: true });
// @ts-expect-error nothing to undo, and yet a policy for it
d.step("s", () => 1, { nothingToUndo: true, compensationRetry: { maxAttempts: 1 } });
// @ts-expect-error a pivot can't be undone
d.pivot("p", () => 1, { compensate: () => {} });
// @ts-expect-error not a duration
d.sleep("s", "soon");
// @ts-expect-error the schema does not accept what the body gives
d.step("s", () => ({ n: "1" }), { nothingToUndo: true, output: z.object({ n: z.number() }) });

// A wait gives what was sent, and that nothing was only where that may be.
const word = z.object({ by: z.string() });
expectTypeOf(d.waitForSignal("s", { payload: word })).resolves.toEqualTypeOf<{
  readonly received: true;
  readonly payload: { by: string };
}>();
expectTypeOf(d.waitForSignal("s", { payload: word, within: "1h", onTimeout: "fail" })).resolves.toEqualTypeOf<{
  readonly received: true;
  readonly payload: { by: string };
}>();
expectTypeOf(d.waitForSignal("s", { within: "1h" })).resolves.toEqualTypeOf<
  { readonly received: true; readonly payload: unknown } | { readonly received: false }
>();

// Children and starts take the input of their saga.
const list = defineSaga({
  name: "list",
  version: 1,
  input: z.object({ n: z.number() }),
  steps: [step({ name: "twice", nothingToUndo: true, run: (context: { n: number }) => ({ twice: 2 * context.n }) })],
});
expectTypeOf(d.child("c", list, { n: 1 })).resolves.toEqualTypeOf<{ twice: number }>();
expectTypeOf(d.child("c", onboarding, { email: "", at: "" })).resolves.toEqualTypeOf<{ sent: string }>();
expectTypeOf(d.start("s", list, { n: 1 })).resolves.toEqualTypeOf<{ readonly id: string }>();
// @ts-expect-error not its input
d.child("c", list, { n: "1" });
// @ts-expect-error not its input
d.start("s", list, {});

// Side by side: a list gives a list, an object an object.
const both = d.all([account, d.sleep("s", "1s"), 7]);
expectTypeOf(both).resolves.toEqualTypeOf<[{ id: string }, void, 7]>();
expectTypeOf(d.all({ account, n: 1 })).resolves.toEqualTypeOf<{ account: { id: string }; n: number }>();
expectTypeOf(d.now()).resolves.toEqualTypeOf<Date>();
expectTypeOf(d.uuid("order")).toEqualTypeOf<string>();
