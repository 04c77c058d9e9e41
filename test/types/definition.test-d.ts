// WHAT IS INFERRED, AND WHAT DOES NOT COMPILE, when steps and sagas are defined. Checked by the compiler alone; the texts of
// the faults are in `test/unit/definition/compile-faults.test.ts`.

import { bulkhead, ConsecutiveBreaker, circuitBreaker, handleAll, wrap } from "cockatiel";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import { defineSaga, type InputOf, type OutputOf, type Saga } from "../../src/definition/define-saga.js";
import { describeSaga } from "../../src/definition/describe.js";
import type { Duration } from "../../src/definition/duration.js";
import type { RunTools, SagaDefinition, Transaction, UndoToolsBase } from "../../src/definition/saga.js";
import { named, pivot, step } from "../../src/definition/step.js";
import type { Step } from "../../src/definition/typed-step.js";

const breaker = circuitBreaker(handleAll, { halfOpenAfter: 1_000, breaker: new ConsecutiveBreaker(5) });

const harmless = { nothingToUndo: true } as const;

// A duration is a number or a number with a unit.
export const durations: Duration[] = ["250ms", "30s", "15m", "24h", "7d", "1.5h", 1_500, Number.POSITIVE_INFINITY];
// @ts-expect-error there is no unit x
export const noUnit: Duration = "15x";
// @ts-expect-error nor is this a number
export const noNumber: Duration = "abc";
// @ts-expect-error a unit has to be named
export const bare: Duration = "15";
// @ts-expect-error a word is not a unit
export const word: Duration = "2 hours";

// The example of the guide: everything is inferred from `run`.
const reserveStock = step({
  name: "reserve-stock",
  run: async (order: { sku: string; quantity: number }, tools) => {
    expectTypeOf(tools).toEqualTypeOf<RunTools>();
    return { reservationId: `${order.sku}/${tools.key}` };
  },
  compensate: async (order, undo) => {
    expectTypeOf(order).toEqualTypeOf<{ sku: string; quantity: number }>();
    expectTypeOf(undo.cause).toEqualTypeOf<UndoToolsBase["cause"]>();
    expectTypeOf(undo.forwardKey).toEqualTypeOf<string>();
    if (undo.outcome === "done") expectTypeOf(undo.output).toEqualTypeOf<{ reservationId: string }>();
    else expectTypeOf(undo.output).toEqualTypeOf<undefined>();
    // @ts-expect-error while it may be in doubt there may be no output
    undo.output.reservationId;
  },
});
expectTypeOf(reserveStock).toEqualTypeOf<
  Step<"reserve-stock", { sku: string; quantity: number }, { reservationId: string }, "compensate">
>();

const chargeCard = pivot({
  name: "charge-card",
  run: async (order: { amountCents: number; reservationId: string }, { key }) => ({
    chargeId: `${key}${order.amountCents}`,
  }),
  reconcile: async (order, { key, signal }) => {
    expectTypeOf(order).toEqualTypeOf<{ amountCents: number; reservationId: string }>();
    return signal.aborted ? { happened: true, output: { chargeId: key } } : undefined;
  },
});
expectTypeOf(chargeCard).toEqualTypeOf<
  Step<"charge-card", { amountCents: number; reservationId: string }, { chargeId: string }, "pivot">
>();

const shipParcel = step({
  name: "ship-parcel",
  run: async (order: { orderId: string; chargeId: string }, { key }) => {
    order.orderId + key;
  },
});
expectTypeOf(shipParcel).toEqualTypeOf<Step<"ship-parcel", { orderId: string; chargeId: string }, void, "neither">>();

export const fulfilOrder = defineSaga({
  name: "fulfil-order",
  version: 1,
  input: z.object({
    orderId: z.string(),
    sku: z.string(),
    quantity: z.int().positive().default(1),
    amountCents: z.int(),
  }),
  steps: [reserveStock, chargeCard, shipParcel],
  maxDuration: "2h",
});

// A caller passes what the schema accepts, not what it makes of it.
expectTypeOf<InputOf<typeof fulfilOrder>>().toEqualTypeOf<{
  orderId: string;
  sku: string;
  quantity?: number | undefined;
  amountCents: number;
}>();
// By default a saga gives what its steps gave.
expectTypeOf<OutputOf<typeof fulfilOrder>>().toEqualTypeOf<{ reservationId: string; chargeId: string }>();
// A saga is what the executor reads, and any saga is a Saga.
expectTypeOf(fulfilOrder).toExtend<SagaDefinition>();
export const all: Saga[] = [fulfilOrder];
describeSaga(fulfilOrder);
declare function start<S extends Saga>(saga: S, input: InputOf<S>): OutputOf<S>;
expectTypeOf(start(fulfilOrder, { orderId: "o", sku: "s", amountCents: 1 }).chargeId).toEqualTypeOf<string>();
// @ts-expect-error the input is the saga's
start(fulfilOrder, { orderId: "o" });
// @ts-expect-error a saga of one input can't be started with that of another
export const mistyped: Saga<{ customer: string }> = fulfilOrder;

// The saga's own output is made of the whole context, wherever it is written.
export const summed = defineSaga({
  output: (context) => {
    expectTypeOf(context).toEqualTypeOf<{ sku: string; quantity: number; orderId: string; reservationId: string }>();
    return context.quantity;
  },
  input: z.object({ sku: z.string(), quantity: z.number(), orderId: z.string() }),
  steps: [reserveStock],
  version: 1,
  name: "summed",
});
expectTypeOf<OutputOf<typeof summed>>().toEqualTypeOf<number>();

// Without an input schema there is no input, and the context begins empty.
export const without = defineSaga({
  name: "without",
  version: 1,
  steps: [
    step({ name: "count", ...harmless, run: () => ({ count: 1 }) }),
    step({ name: "use", ...harmless, run: (context: { count: number; note?: string }) => void context.note }),
  ],
  output: (context) => {
    expectTypeOf(context).toEqualTypeOf<{ count: number }>();
  },
});
expectTypeOf<InputOf<typeof without>>().toEqualTypeOf<Record<string, never> | undefined>();
start(without, undefined);
start(without, {});
// @ts-expect-error it takes no input
start(without, { sku: "s" });
defineSaga({
  name: "without",
  version: 1,
  // @ts-expect-error nothing provides the sku
  steps: [step({ name: "needy", ...harmless, run: (context: { sku: string }) => void context.sku })],
});

// Steps written in the list are inferred as they are elsewhere.
export const inline = defineSaga({
  name: "inline",
  version: 1,
  input: z.object({ a: z.string() }),
  steps: [
    step({
      name: "one",
      run: async (context: { a: string }, { key }) => ({ b: key + context.a }),
      compensate: async (context, { output }) => {
        expectTypeOf(context).toEqualTypeOf<{ a: string }>();
        expectTypeOf(output).toEqualTypeOf<{ b: string } | undefined>();
      },
    }),
    step({ name: "two", run: async (_, { key }) => ({ c: key }), nothingToUndo: true }),
    pivot({ name: "three", run: async (context: { b: string; c: string }) => ({ d: context.b.length }) }),
    step({ name: "four", run: async () => {} }),
  ],
  output: (context) => context.d,
});
expectTypeOf<OutputOf<typeof inline>>().toEqualTypeOf<number>();

// A body that returns nothing gives nothing; one that never returns too; one that needs nothing may take anything.
expectTypeOf(step({ name: "none", run: async () => {} })).toEqualTypeOf<Step<"none", unknown, void, "neither">>();
const throws = step({
  name: "throws",
  ...harmless,
  run: async () => {
    throw new Error("always");
  },
  // A compensation that always throws is one.
});
const undoThrows = step({
  name: "undo-throws",
  run: () => ({ x: 1 }),
  compensate: () => {
    throw new Error("always");
  },
});
expectTypeOf(undoThrows).toEqualTypeOf<Step<"undo-throws", unknown, { x: number }, "compensate">>();
declare const undoAny: (context: unknown, undo: unknown) => any;
expectTypeOf(step({ name: "undo-any", run: () => {}, compensate: undoAny })).toEqualTypeOf<
  Step<"undo-any", unknown, void, "compensate">
>();
export const odd = defineSaga({ name: "odd", version: 1, steps: [throws, undoThrows] });
expectTypeOf<OutputOf<typeof odd>>().toEqualTypeOf<{ x: number }>();

// A schema decides what later steps get, and what `run` has to return, literals included.
const Method = z.object({ kind: z.enum(["card", "bank"]), at: z.string().transform((text) => new Date(text)) });
const choose = step({
  name: "choose",
  run: async (order: { sku: string }, { key }) => ({ kind: order.sku === key ? "card" : "bank", at: "2026-01-01" }),
  compensate: (_, undo) => {
    if (undo.outcome === "done") expectTypeOf(undo.output).toEqualTypeOf<{ kind: "card" | "bank"; at: Date }>();
  },
  output: Method,
});
expectTypeOf(choose).toEqualTypeOf<
  Step<"choose", { sku: string }, { kind: "card" | "bank"; at: Date }, "compensate">
>();
// @ts-expect-error a key that the schema wants is missing
step({ name: "less", ...harmless, output: Method, run: async () => ({ kind: "card" }) });
// @ts-expect-error the schema wants an object, and this gives nothing
step({ name: "none", ...harmless, output: Method, run: async () => {} });

// A transactional step works with `tx` in both directions, and is never in doubt.
step({
  name: "book",
  transaction: true,
  run: async (_, { tx, key }) => {
    expectTypeOf(tx).toEqualTypeOf<Transaction>();
    return { bookingId: key };
  },
  compensate: async (_, undo) => {
    expectTypeOf(undo.tx).toEqualTypeOf<Transaction>();
    expectTypeOf(undo.outcome).toEqualTypeOf<"done">();
    expectTypeOf(undo.output).toEqualTypeOf<{ bookingId: string }>();
  },
});
// @ts-expect-error only a transactional step has a transaction
step({ name: "no-tx", ...harmless, run: async (_: unknown, { tx }) => void tx });
// @ts-expect-error a transactional step takes no reconcile
step({ name: "book", ...harmless, transaction: true, run: () => {}, reconcile: () => undefined });

// Options of a step.
step({
  name: "full",
  run: () => ({}),
  compensate: () => {},
  retry: { maxAttempts: Number.POSITIVE_INFINITY, firstDelay: "1s", maxDelay: "1m", factor: 2 },
  compensationRetry: { maxAttempts: 3 },
  timeout: Number.POSITIVE_INFINITY,
  grace: "1s",
  policy: wrap(bulkhead(5), breaker),
  classifyError: (error) => {
    expectTypeOf(error).toEqualTypeOf<unknown>();
    return { retryable: true, happened: "maybe" };
  },
});
// @ts-expect-error not a duration
step({ name: "typo", ...harmless, run: () => {}, timeout: "15x" });
// @ts-expect-error no such option
step({ name: "typo", ...harmless, run: () => {}, retry: { attempts: 3 } });
// @ts-expect-error no such option
step({ name: "typo", run: () => {}, nothingToUdo: true });
// @ts-expect-error a pivot can't be undone
pivot({ name: "undone", run: () => {}, compensate: () => {} });
// @ts-expect-error nor is there anything to say of it
pivot({ name: "undone", run: () => {}, nothingToUndo: true });
// @ts-expect-error and nothing to try again
pivot({ name: "undone", run: () => {}, compensationRetry: {} });

// Unions keep their parts together: in the input, in an output, in what a step needs.
const Payment = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("card"), pan: z.string() }),
  z.object({ kind: z.literal("bank"), iban: z.string() }),
]);
export const unions = defineSaga({
  name: "unions",
  version: 1,
  input: Payment,
  steps: [
    step({
      name: "pay",
      ...harmless,
      run: async (context: { kind: "card"; pan: string } | { kind: "bank"; iban: string }) =>
        context.kind === "card" ? { ok: true as const, id: context.pan } : { ok: false as const },
    }),
    step({ name: "either", ...harmless, run: (context: { ok: boolean; kind: string }) => void context }),
    step({ name: "parts", ...harmless, run: (context: { ok: true; id: string } | { ok: false }) => void context }),
    step({ name: "perhaps", ...harmless, run: (context: { id?: string }) => (context.id ? { m: 1 } : undefined) }),
    step({ name: "perhaps-used", ...harmless, run: (context: { m?: number | undefined }) => void context }),
  ],
});
defineSaga({
  name: "unions",
  version: 1,
  input: Payment,
  steps: [
    // @ts-expect-error only one of the inputs has it
    step({ name: "card", ...harmless, run: (context: { pan: string }) => void context }),
    // @ts-expect-error only one of the inputs is it
    step({ name: "bank", ...harmless, run: (context: { kind: "bank" }) => void context }),
  ],
});

// A context may lack every key that a step merely looks at; `any`, `object` and records of anything are met by all.
defineSaga({
  name: "lax",
  version: 1,
  input: z.object({ q: z.string() }),
  steps: [
    step({ name: "weak", ...harmless, run: (context: { note?: string }) => void context }),
    step({ name: "object", ...harmless, run: (context: object) => void context }),
    step({ name: "record", ...harmless, run: (context: Record<string, unknown>) => void context }),
    step({ name: "any", ...harmless, run: (context: any) => ({ z: context.z as string }) }),
    step({ name: "gives-any", ...harmless, run: (context: { z: string }): any => context }),
  ],
});

// Interfaces are plain objects, also one that looks like an Error.
interface Failure {
  name: string;
  message: string;
}
const fails = step({ name: "fails", ...harmless, run: async (): Promise<Failure> => ({ name: "", message: "" }) });
export const interfaces = defineSaga({
  name: "interfaces",
  version: 1,
  steps: [fails, step({ name: "use", ...harmless, run: (context: Failure) => void context })],
});
expectTypeOf<OutputOf<typeof interfaces>>().toEqualTypeOf<{ name: string; message: string }>();

// Factories of steps keep names and keys.
function audit<const Name extends string>(name: Name) {
  return step({ name, ...harmless, run: async (context: { orderId: string }) => void context });
}
function emit<const Key extends string>(key: Key) {
  return step({ name: `emit-${key}`, ...harmless, run: async () => ({ [key]: 1 }) as { [K in Key]: number } });
}
export const factories = defineSaga({
  name: "factories",
  version: 1,
  input: z.object({ orderId: z.string() }),
  steps: [audit("first"), audit("second"), emit("a"), emit("b")],
});
expectTypeOf<OutputOf<typeof factories>>().toEqualTypeOf<{ a: number; b: number }>();
defineSaga({
  name: "factories",
  version: 1,
  input: z.object({ orderId: z.string() }),
  // @ts-expect-error two of one name
  steps: [audit("first"), audit("first")],
});

// One step, used twice: under another name, its output under a key of its own.
const twice = named(emit("a"), "again", { into: "again" });
expectTypeOf(twice).toEqualTypeOf<Step<"again", unknown, { again: { a: number } }, "nothingToUndo", "keyed">>();
expectTypeOf(named(audit("x"), "y", { into: "nothing" })).toEqualTypeOf<
  Step<"y", { orderId: string }, { nothing: undefined }, "nothingToUndo", "keyed">
>();
expectTypeOf(named(chargeCard, "deposit")).toEqualTypeOf<
  Step<"deposit", { amountCents: number; reservationId: string }, { chargeId: string }, "pivot">
>();
export const used = defineSaga({
  name: "used",
  version: 1,
  steps: [
    emit("a"),
    twice,
    step({ name: "use", ...harmless, run: (context: { a: number; again: { a: number } }) => void context }),
  ],
});
// @ts-expect-error no such option
named(emit("a"), "b", { inot: "x" });
// @ts-expect-error not a step
named({ name: "plain", run: () => {} }, "b");

// A list made elsewhere is checked when it is a tuple, and at run time when it is not.
const tuple = [reserveStock, chargeCard, shipParcel] as const;
const input = z.object({ orderId: z.string(), sku: z.string(), quantity: z.number(), amountCents: z.number() });
export const listed = defineSaga({ name: "listed", version: 1, input, steps: tuple });
const reversed = [shipParcel, chargeCard, reserveStock] as const;
// @ts-expect-error nothing is in its place
defineSaga({ name: "listed", version: 1, input, steps: reversed });
const dynamic: Step[] = [reserveStock, chargeCard];
export const loose = defineSaga({ name: "loose", version: 1, steps: dynamic, output: (context) => context.anything });
// @ts-expect-error a saga has steps
defineSaga({ name: "empty", version: 1, steps: [] });
// @ts-expect-error and names them
defineSaga({ name: "missing", version: 1 });
// @ts-expect-error no such option
defineSaga({ name: "typo", version: 1, steps: [emit("a")], maxDuratoin: "2h" });
// @ts-expect-error its input is a plain object
defineSaga({ name: "text", version: 1, steps: [emit("a")], input: z.string() });
// @ts-expect-error what counts is what the schema makes of it
defineSaga({ name: "list", version: 1, steps: [emit("a")], input: z.object({}).transform(() => [1]) });

// Names that the compiler knows only as strings, from a factory, clash with nothing.
const made = (name: string) => step({ name, run: async (_context: object) => {}, compensate: async () => {} });
defineSaga({
  name: "made",
  version: 1,
  steps: [made("a"), made("b"), pivot({ name: "c", run: async (_context: object) => {} })],
});

// The key of a limit gets the parsed input.
export const limited = defineSaga({
  name: "limited",
  version: 1,
  input: z.object({ customer: z.string(), at: z.string().transform((text) => new Date(text)) }),
  steps: [step({ name: "look", run: async (_: { customer: string }) => {}, nothingToUndo: true })],
  concurrency: {
    limit: 1,
    key: (input) => {
      expectTypeOf(input.at).toEqualTypeOf<Date>();
      return input.customer;
    },
  },
});
expectTypeOf<InputOf<typeof limited>>().toEqualTypeOf<{ customer: string; at: string }>();
defineSaga({
  name: "limited",
  version: 1,
  steps: [step({ name: "look", run: async () => {}, nothingToUndo: true })],
  // @ts-expect-error a key is a text
  concurrency: { limit: 1, key: () => 7 },
});
