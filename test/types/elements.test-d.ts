// WHAT IS INFERRED THROUGH THE OTHER ELEMENTS OF A LIST, and what does not compile. The texts of the faults are in
// `test/unit/definition/element-compile-faults.test.ts`.

import { expectTypeOf } from "vitest";
import { z } from "zod";
import { child } from "../../src/definition/child.js";
import { defineSaga, type OutputOf } from "../../src/definition/define-saga.js";
import type { Duration } from "../../src/definition/duration.js";
import { forEach } from "../../src/definition/for-each.js";
import { parallel } from "../../src/definition/parallel.js";
import { sleep } from "../../src/definition/sleep.js";
import { named, pivot, step } from "../../src/definition/step.js";
import type { Step } from "../../src/definition/typed-step.js";
import { waitForSignal } from "../../src/definition/wait-for-signal.js";

const harmless = { nothingToUndo: true } as const;
const input = z.object({ orderId: z.string(), days: z.number(), gift: z.boolean(), skus: z.array(z.string()) });

// A sleep gives nothing, and needs what its function asks for.
const night = sleep({ name: "night", for: "8h" });
expectTypeOf(night).toEqualTypeOf<Step<"night", unknown, void, "nothingToUndo", "sleep">>();
const hold = sleep({ name: "hold", for: (order: { days: number }) => `${order.days}d` });
expectTypeOf(hold).toEqualTypeOf<Step<"hold", { days: number }, void, "nothingToUndo", "sleep">>();
// @ts-expect-error not a duration
sleep({ name: "typo", for: "15x" });
// @ts-expect-error nor is what is computed
sleep({ name: "typo", for: () => "15x" });
// @ts-expect-error it has to say how long
sleep({ name: "typo" });
// @ts-expect-error no such option
sleep({ name: "typo", for: "1s", until: "1s" });

// A wait gives what was sent, and the case that nothing was only where there may be one.
const Approval = z.object({ by: z.string(), at: z.string().transform((text) => new Date(text)) });
const approval = waitForSignal({ name: "approval", payload: Approval, within: "48h" });
expectTypeOf(approval).toEqualTypeOf<
  Step<
    "approval",
    unknown,
    {
      approval: { readonly received: true; readonly payload: { by: string; at: Date } } | { readonly received: false };
    },
    "nothingToUndo",
    "signal" | "keyed"
  >
>();
const forever = waitForSignal({ name: "go" });
type Go = { go: { readonly received: true; readonly payload: unknown } };
expectTypeOf(forever).toEqualTypeOf<Step<"go", unknown, Go, "nothingToUndo", "signal" | "keyed">>();
expectTypeOf(waitForSignal({ name: "go", within: 5_000, onTimeout: "fail" })).toEqualTypeOf(forever);
type PerhapsGo = { go: { readonly received: true; readonly payload: unknown } | { readonly received: false } };
expectTypeOf(waitForSignal({ name: "go", within: "1s", onTimeout: "give" })).toEqualTypeOf<
  Step<"go", unknown, PerhapsGo, "nothingToUndo", "signal" | "keyed">
>();
declare const some: { within?: Duration; onTimeout?: "give" | "fail" };
declare const within: Duration;
declare const onTimeout: "give" | "fail";
// What is not known when it is compiled may be either.
expectTypeOf(waitForSignal({ name: "go", within, onTimeout })).toEqualTypeOf<
  Step<"go", unknown, PerhapsGo, "nothingToUndo", "signal" | "keyed">
>();
expectTypeOf(waitForSignal({ name: "go", within: some.within })).toEqualTypeOf<
  Step<"go", unknown, PerhapsGo, "nothingToUndo", "signal" | "keyed">
>();
const second = named(waitForSignal({ name: "approval", within: "1h" }), "second", { into: "again" });
expectTypeOf(second).toEqualTypeOf<
  Step<
    "second",
    unknown,
    { again: { readonly received: true; readonly payload: unknown } | { readonly received: false } },
    "nothingToUndo",
    "signal" | "keyed"
  >
>();
// @ts-expect-error not a duration
waitForSignal({ name: "typo", within: "2 days" });
// @ts-expect-error without a deadline there is no timeout
waitForSignal({ name: "typo", onTimeout: "fail" });
// @ts-expect-error not one of the two
waitForSignal({ name: "typo", within: "1s", onTimeout: "throw" });
// @ts-expect-error not a schema
waitForSignal({ name: "typo", payload: { by: "string" } });

export const approved = defineSaga({
  name: "approved",
  version: 1,
  input,
  steps: [
    night,
    hold,
    approval,
    second,
    step({
      name: "use",
      ...harmless,
      run: (context: { approval: { received: boolean }; again: { received: boolean } }) => void context,
    }),
  ],
  output: ({ approval }) => (approval.received ? approval.payload.at : undefined),
});
expectTypeOf<OutputOf<typeof approved>>().toEqualTypeOf<Date | undefined>();
defineSaga({
  name: "approved",
  version: 1,
  steps: [
    approval,
    // @ts-expect-error there may have been none in time
    step({ name: "use", ...harmless, run: (context: { approval: { payload: { by: string } } }) => void context }),
  ],
});

// Members of a parallel see the context from before; what they give is there after.
const hotel = step({ name: "hotel", ...harmless, run: (_: { orderId: string }) => ({ hotelId: "h" }) });
const flight = step({ name: "flight", ...harmless, run: (_: { days: number }) => ({ flightId: 1 }) });
const both = step({ name: "both", ...harmless, run: (_: { hotelId: string; flightId: number }) => ({ both: true }) });
export const trip = defineSaga({
  name: "trip",
  version: 1,
  input,
  steps: [
    parallel([hotel, flight, sleep({ name: "at-least", for: "1m" }), waitForSignal({ name: "passport" })]),
    both,
    pivot({ name: "pay", run: (_: { both: boolean }) => {} }),
    parallel([
      step({ name: "mail", run: (_: { orderId: string }) => {} }),
      forEach({
        name: "vouchers",
        over: (order: { skus: string[] }) => order.skus,
        step: step({ name: "voucher", run: (sku: string) => ({ printed: sku }) }),
      }),
    ]),
  ],
});
expectTypeOf<OutputOf<typeof trip>>().toEqualTypeOf<{
  hotelId: string;
  flightId: number;
  passport: { readonly received: true; readonly payload: unknown };
  both: boolean;
  vouchers: { printed: string }[];
}>();
// @ts-expect-error a parallel has members
parallel([]);
// @ts-expect-error it takes one list
parallel(hotel, flight);
// @ts-expect-error it has no name
named(parallel([hotel]), "other");
const dynamic: Step[] = [hotel, flight];
defineSaga({ name: "loose", version: 1, steps: [parallel(dynamic), both] });
const members = [hotel, flight] as const;
export const listed = defineSaga({ name: "listed", version: 1, input, steps: [parallel(members), both] });
expectTypeOf<OutputOf<typeof listed>>().toEqualTypeOf<{ hotelId: string; flightId: number; both: boolean }>();

// A step's context is the item; the outputs are a list.
const parcel = step({
  name: "parcel",
  run: async (parcel: { sku: string; grams?: number }) => ({ label: parcel.sku }),
  compensate: (parcel, undo) => void [parcel.sku, undo.output?.label],
});
const parcels = forEach({
  name: "parcels",
  over: (order: { skus: string[] }) => order.skus.map((sku) => ({ sku })),
  step: parcel,
  concurrency: 4,
});
expectTypeOf(parcels).toEqualTypeOf<
  Step<"parcels", { skus: string[] }, { parcels: { label: string }[] }, "compensate", "each" | "keyed">
>();
const notes = forEach({
  name: "notes",
  over: () => [1, 2] as const,
  step: step({ name: "note", ...harmless, run: (_: number) => {} }),
});
expectTypeOf(notes).toEqualTypeOf<Step<"notes", unknown, { notes: undefined[] }, "nothingToUndo", "each" | "keyed">>();
// An item may lack every key that a step merely looks at.
forEach({ name: "weak", over: () => [{ a: 1 }], step: step({ name: "s", run: (_: { note?: string }) => {} }) });
forEach({ name: "any", over: (context: any) => context.items, step: parcel });
forEach({ name: "any", over: () => [{ a: 1 }], step: step({ name: "s", run: (_: any) => {} }) });
forEach({ name: "some", over: () => [{ a: 1 }], step: parcel as Step });
forEach({
  name: "either",
  over: () => [
    { kind: "a" as const, a: 1 },
    { kind: "b" as const, b: 2 },
  ],
  step: step({ name: "s", run: (_: { kind: "a"; a: number } | { kind: "b"; b: number }) => {} }),
});
// @ts-expect-error the items are something else
forEach({ name: "wrong", over: () => ["a"], step: parcel });
// @ts-expect-error so are these
forEach({ name: "wrong", over: () => [{ sku: 5 }], step: parcel });
// @ts-expect-error not every item has it
forEach({ name: "wrong", over: () => [{ sku: "a" }, {}] as ({ sku: string } | { ean: string })[], step: parcel });
declare const unknowns: unknown[];
// @ts-expect-error nobody knows what they are
forEach({ name: "wrong", over: () => unknowns, step: parcel });
// @ts-expect-error no list
forEach({ name: "wrong", over: () => "a", step: parcel });
// @ts-expect-error no step
forEach({ name: "wrong", over: () => ["a"], step: { name: "s", run: () => {} } });

// A child takes its saga's input, and gives its output.
const invoice = defineSaga({
  name: "invoice",
  version: 1,
  input: z.object({ orderId: z.string(), copies: z.number().default(1) }),
  steps: [step({ name: "print", ...harmless, run: (_: { orderId: string; copies: number }) => ({ pages: 3 }) })],
});
const bill = child({
  name: "bill",
  saga: invoice,
  input: (order: { orderId: string }) => ({ orderId: order.orderId }),
});
expectTypeOf(bill).toEqualTypeOf<
  Step<"bill", { orderId: string }, { bill: { pages: number } }, "nothingToUndo", "child" | "keyed">
>();
expectTypeOf(named(bill, "copy", { into: "copied" })).toEqualTypeOf<
  Step<"copy", { orderId: string }, { copied: { pages: number } }, "nothingToUndo", "child" | "keyed">
>();
const counted = defineSaga({ name: "counted", version: 1, steps: [night], output: () => 5 });
expectTypeOf(child({ name: "count", saga: counted, input: () => undefined })).toEqualTypeOf<
  Step<"count", unknown, { count: number }, "nothingToUndo", "child" | "keyed">
>();
// @ts-expect-error the input is the other saga's
child({ name: "bill", saga: invoice, input: () => ({ order: "o" }) });
// @ts-expect-error no saga
child({ name: "bill", saga: { name: "invoice" }, input: () => ({}) });

// What a step that may not run gives may be absent.
const wrap = step({
  name: "wrap",
  ...harmless,
  when: (order: { gift: boolean }) => order.gift,
  run: (_: { orderId: string }) => ({ paper: "red" }),
});
expectTypeOf(wrap).toEqualTypeOf<
  Step<"wrap", { orderId: string } & { gift: boolean }, { paper: string }, "nothingToUndo", "conditional">
>();
// Where `when` has no type of its own, it gets what `run` gets.
const card = step({
  name: "card",
  run: (_: { orderId: string }) => ({ cardId: "c" }),
  when: (order) => {
    expectTypeOf(order).toEqualTypeOf<{ orderId: string }>();
    return order.orderId !== "";
  },
  compensate: (order, undo) => void [order.orderId, undo.output?.cardId],
});
expectTypeOf(card).toEqualTypeOf<Step<"card", { orderId: string }, { cardId: string }, "compensate", "conditional">>();
expectTypeOf(named(card, "other", { into: "other" })).toEqualTypeOf<
  Step<"other", { orderId: string }, { other: { cardId: string } }, "compensate", "conditional" | "keyed">
>();
export const gifts = defineSaga({
  name: "gifts",
  version: 1,
  input,
  steps: [
    wrap,
    card,
    named(card, "second-card", { into: "second" }),
    step({
      name: "look",
      ...harmless,
      run: (_: { paper?: string | undefined; second?: { cardId: string } | undefined }) => {},
    }),
  ],
});
expectTypeOf<OutputOf<typeof gifts>>().toEqualTypeOf<{
  paper?: string | undefined;
  cardId?: string | undefined;
  second?: { cardId: string } | undefined;
}>();
// @ts-expect-error a verdict is true or false
step({ name: "vague", ...harmless, run: () => {}, when: () => "yes" });
// @ts-expect-error nor a promise
step({ name: "later", ...harmless, run: () => {}, when: async () => true });
// @ts-expect-error a pivot always runs
pivot({ name: "maybe", run: () => {}, when: () => true });

// A key is renamed, however often an element is named.
expectTypeOf(named(named(hotel, "a", { into: "x" }), "b", { into: "y" })).toEqualTypeOf<
  Step<"b", { orderId: string }, { y: { hotelId: string } }, "nothingToUndo", "keyed">
>();
