// ELEMENTS THAT BREAK THE RULES OF A LIST DO NOT COMPILE: the error stands at the element, or where it was made, and says
// why.

import { describe, expect, it } from "vitest";
import { type CompileFault, compile } from "../../support/compile.js";

const imports = `
import { z } from "zod";
import { child, defineSaga, forEach, named, parallel, pivot, sleep, step, waitForSignal } from "../../src/index.js";
const nothingToUndo = true;
const hotel = step({ name: "hotel", run: async (_: { trip: string }) => ({ hotelId: "h" }), compensate: async () => {} });
const car = step({ name: "car", nothingToUndo, run: async (_: { trip: string }) => ({ carId: 1 }) });
const lounge = step({ name: "lounge", nothingToUndo, run: async (_: { carId: number }) => ({}) });
const charge = pivot({ name: "charge", run: async () => {} });
const mail = step({ name: "mail", run: async () => {} });
const wait = waitForSignal({ name: "approval", within: "1h" });
const order = step({ name: "order", nothingToUndo, run: async (_: { sku: string }) => ({ id: 1 }) });
const input = z.object({ trip: z.string(), skus: z.array(z.string()), lines: z.array(z.object({ sku: z.string() })) });
const lines = (context: { lines: { sku: string }[] }) => context.lines;
const empty = defineSaga({ name: "empty", version: 1, input: z.object({ id: z.string() }), steps: [sleep({ name: "s", for: 1 })] });
`;

/** A saga over this list; the line that should be refused is marked with a comment. */
const sagaOf = (steps: string) => `${imports}
export const saga = defineSaga({ name: "trip", version: 1, input, steps: [
${steps}
] });`;

/** Per case: the source, and what the compiler has to say of the line marked with "// here". */
const cases = {
  "a member of a parallel that needs what another gives": {
    source: sagaOf("parallel([car, lounge]), // here\ncharge"),
    says: [
      `step 'lounge': needs 'carId', which only a member beside it gives; the members of a parallel see the context from before`,
    ],
  },
  "a member of a parallel that needs what nothing provides": {
    source: sagaOf("parallel([hotel, lounge]), // here\ncharge"),
    says: [`step 'lounge': needs 'carId', which neither the input nor an earlier step provides`],
  },
  "a member of a parallel that needs what it gives itself": {
    source: sagaOf(
      "parallel([hotel, step({ name: 'self', nothingToUndo, run: async (_: { x: 1 }) => ({ x: 1 }) })]), // here",
    ),
    says: [`step 'self': needs 'x', which neither the input nor an earlier step provides`],
  },
  "two members of a parallel that give one key": {
    source: sagaOf("parallel([hotel, named(hotel, 'hotel-2')]), // here"),
    says: [`step 'hotel-2': gives 'hotelId', which a member beside it gives already; use named(`],
  },
  "a member of a parallel that gives what an earlier step gives": {
    source: sagaOf("hotel,\nparallel([car, named(hotel, 'hotel-2')]), // here"),
    says: [`step 'hotel-2': gives 'hotelId', which the input or an earlier step gives already; use named(`],
  },
  "a step that gives what a member of a parallel gives": {
    source: sagaOf("parallel([car, hotel]),\nnamed(hotel, 'hotel-2'), // here"),
    says: [`step 'hotel-2': gives 'hotelId', which the input or an earlier step gives already; use named(`],
  },
  "two members of one name": {
    source: sagaOf("parallel([car, named(hotel, 'car')]), // here"),
    says: [`step 'car': an earlier step has the same name; use named(step, 'another name')`],
  },
  "a step with the name of a member": {
    source: sagaOf("parallel([car, hotel]),\nsleep({ name: 'car', for: '1s' }), // here"),
    says: [`step 'car': an earlier step has the same name; use named(step, 'another name')`],
  },
  "a member before the pivot that can't be undone": {
    source: sagaOf("parallel([hotel, mail]), // here\ncharge"),
    says: [`step 'mail': can be rolled back, so it needs compensate, or nothingToUndo: true`],
  },
  "a member after the pivot that has a compensation": {
    source: sagaOf("charge,\nparallel([hotel, mail]), // here"),
    says: [`step 'hotel': comes after the pivot 'charge', where nothing is undone, so it can't have compensate`],
  },
  "a pivot in a parallel": {
    source: `${imports}export const both = parallel([hotel,
charge, // here
]);`,
    says: [`step 'charge': a pivot is no member of a parallel; the point of no return is passed alone`],
  },
  "a parallel in a parallel": {
    source: `${imports}export const both = parallel([hotel,
parallel([car]), // here
]);`,
    says: ["a parallel is no member of another; put its members beside the others"],
  },
  "a member that is no element": {
    source: `${imports}export const both = parallel([hotel,
{ name: "plain", run: async () => {} }, // here
]);`,
    says: ["this member was not made by step() or named(), nor by sleep(), waitForSignal(), forEach() or child()"],
  },
  "a parallel of nothing": {
    source: `${imports}export const none = parallel([]); // here`,
    says: ["a parallel has at least one member"],
  },
  "a sleep that needs what nothing provides": {
    source: sagaOf("sleep({ name: 'hold', for: (_: { days: number }) => 5 }), // here"),
    says: [`step 'hold': needs 'days', which neither the input nor an earlier step provides`],
  },
  "a sleep with a typo": {
    source: `${imports}sleep({ name: "hold",
for: "15x", // here
});`,
    says: [`Type '"15x"' is not assignable to type`],
  },
  "a wait whose name is a key of the context": {
    source: sagaOf("waitForSignal({ name: 'trip' }), // here"),
    says: [`step 'trip': gives 'trip', which the input or an earlier step gives already; use named(`],
  },
  "a second wait that gives under the same key": {
    source: sagaOf("wait,\nnamed(wait, 'again'), // here"),
    says: [`step 'again': gives 'approval', which the input or an earlier step gives already; use named(`],
  },
  "what a signal brings where there may have been none": {
    source: sagaOf(
      "wait,\nstep({ name: 'use', nothingToUndo, run: async (_: { approval: { received: true } }) => {} }), // here",
    ),
    says: [`step 'use': needs another type of 'approval' than the input or an earlier step provides`],
  },
  "a way out of a wait that has no deadline": {
    source: `${imports}waitForSignal({ name: "approval",
onTimeout: "fail", // here
});`,
    says: [`signal 'approval': onTimeout has no use without within`],
  },
  "a forEach whose step takes another item": {
    source: `${imports}export const each = forEach({ name: "orders", over: (context: { skus: string[] }) => context.skus,
step: order, // here
});`,
    says: [`step 'order': takes another type of item than over gives`],
  },
  "a forEach over what nothing provides": {
    source: sagaOf(
      "forEach({ name: 'orders', over: (_: { rows: { sku: string }[] }) => _.rows, step: order }), // here",
    ),
    says: [`step 'orders': needs 'rows', which neither the input nor an earlier step provides`],
  },
  "a forEach of a pivot": {
    source: `${imports}export const each = forEach({ name: "orders", over: lines,
step: charge, // here
});`,
    says: [`step 'charge': is a pivot; the point of no return is passed once, not for each item`],
  },
  "a forEach of another element": {
    source: `${imports}export const each = forEach({ name: "orders", over: lines,
step: wait, // here
});`,
    says: [`step 'approval': is another element of a list; an item takes a step`],
  },
  "a forEach of a step with a condition": {
    source: `${imports}const perhaps = step({ name: "perhaps", nothingToUndo, run: async () => {}, when: () => true });
export const each = forEach({ name: "orders", over: lines,
step: perhaps, // here
});`,
    says: [`step 'perhaps': has when; leave the items out of over instead`],
  },
  "a forEach of a step that gives under a key": {
    source: `${imports}export const each = forEach({ name: "orders", over: lines,
step: named(order, "under", { into: "key" }), // here
});`,
    says: [`step 'under': has into, but outputs of items go into a list; use the step that it was made of`],
  },
  "a forEach of a step that gives no object": {
    source: `${imports}export const each = forEach({ name: "orders", over: lines,
step: step({ name: "five", nothingToUndo, run: async () => 5 }), // here
});`,
    says: [`step 'five': gives a primitive value; an output is a plain object or nothing`],
  },
  "a forEach of what is no step": {
    source: `${imports}export const each = forEach({ name: "orders", over: lines,
step: parallel([car]), // here
});`,
    says: ["Type 'Parallel<readonly [Step<"],
  },
  "a forEach before the pivot whose step can't be undone": {
    source: sagaOf("forEach({ name: 'mails', over: lines, step: mail }), // here\ncharge"),
    says: [`step 'mails': can be rolled back, so it needs compensate, or nothingToUndo: true`],
  },
  "a forEach after the pivot whose step has a compensation": {
    source: sagaOf("charge,\nforEach({ name: 'hotels', over: () => [{ trip: 't' }], step: hotel }), // here"),
    says: [`step 'hotels': comes after the pivot 'charge', where nothing is undone, so it can't have compensate`],
  },
  "a child's input that is another": {
    source: `${imports}export const bill = child({ name: "bill", saga: empty,
input: () => ({ id: 5 }), // here
});`,
    says: ["Type 'number' is not assignable to type 'string'"],
  },
  "a child that needs what nothing provides": {
    source: sagaOf(
      "child({ name: 'bill', saga: empty, input: (_: { billId: string }) => ({ id: _.billId }) }), // here",
    ),
    says: [`step 'bill': needs 'billId', which neither the input nor an earlier step provides`],
  },
  "what a step gives that may not run": {
    source: sagaOf(
      "step({ ...{ name: 'car', nothingToUndo }, run: () => ({ carId: 1 }), when: () => true }),\nlounge, // here",
    ),
    says: [`step 'lounge': needs 'carId', which the input and the earlier steps don't always provide`],
  },
  "a condition that needs what nothing provides": {
    source: sagaOf(
      "step({ name: 'gift', nothingToUndo, run: () => {}, when: (_: { gift: boolean }) => _.gift }), // here",
    ),
    says: [`step 'gift': needs 'gift', which neither the input nor an earlier step provides`],
  },
  "a key that a step gives too that may not run": {
    source: sagaOf(
      "step({ name: 'perhaps', nothingToUndo, run: () => ({ hotelId: '' }), when: () => true }),\nhotel, // here",
    ),
    says: [`step 'hotel': gives 'hotelId', which the input or an earlier step gives already; use named(`],
  },
  "a pivot with a condition": {
    source: `${imports}pivot({ name: "pay", run: async () => {},
when: () => true, // here
});`,
    says: [`pivot 'pay': a saga that has a pivot always passes it, or rolls back, so it takes no when`],
  },
  "a name that is a whole number": {
    source: sagaOf("named(hotel, '17'), // here"),
    says: [`step '17': a whole number is reserved: keys of the items of a forEach end in one`],
  },
  "a list element that nothing made": {
    source: sagaOf("hotel,\n{ members: 5 }, // here"),
    says: ["nor by sleep(), waitForSignal(), parallel(), forEach() or child()"],
  },
} satisfies Record<string, { source: string; says: string[] }>;

const sound = `${sagaOf(
  `parallel([hotel, car, wait, child({ name: "bill", saga: empty, input: (_: { trip: string }) => ({ id: _.trip }) })]), lounge,
named(wait, "second", { into: "17" }), named(car, "17a", { into: "b" }), sleep({ name: "night", for: "8h" }), charge,
forEach({ name: "orders", over: lines, step: order }), parallel([mail]),`,
)}`;

const found: Record<string, CompileFault[]> = compile(
  Object.fromEntries([["sound", sound], ...Object.entries(cases).map(([name, { source }]) => [name, source])]),
);

it("the compiler has nothing to say against a sound saga", () => {
  expect(found.sound).toEqual([]);
});

describe("the compiler refuses", () => {
  it.each(Object.entries(cases))("%s, at its place and by name", (name, { source, says }) => {
    const here = source.split("\n").findIndex((line) => line.includes("// here")) + 1;
    const faults = found[name]!;
    expect(faults.map((fault) => fault.line)).toEqual([here]);
    for (const text of says) expect(faults[0]!.text).toContain(text);
  });
});
