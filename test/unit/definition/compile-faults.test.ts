// A DEFINITION THAT BREAKS THE TABLE OF 1.1 DOES NOT COMPILE, and the error stands at the faulty element and says why.

import { describe, expect, it } from "vitest";
import { type CompileFault, compile } from "../../support/compile.js";

const imports = `
import { z } from "zod";
import { defineSaga } from "../../src/definition/define-saga.js";
import { named, pivot, step } from "../../src/definition/step.js";
import type { Duration } from "../../src/definition/duration.js";
const reserve = step({ name: "reserve", run: async (order: { sku: string }) => ({ reservationId: order.sku }), compensate: async () => {} });
const charge = pivot({ name: "charge", run: async (order: { amount: number }) => ({ chargeId: String(order.amount) }) });
const ship = step({ name: "ship", run: async (order: { chargeId: string }) => { order.chargeId; } });
const look = step({ name: "look", nothingToUndo: true, run: async () => {} });
const input = z.object({ sku: z.string(), amount: z.number() });
`;

/** A saga over this list; the element that should be refused is marked with a comment. */
const sagaOf = (steps: string, input = "input") => `${imports}
export const saga = defineSaga({ name: "order", version: 1, input: ${input}, steps: [
${steps}
] });`;

/** Per case: the source, and what the compiler has to say of the line marked with "// here". */
const cases = {
  "a step that needs what nothing provides": {
    source: sagaOf("reserve,\nship, // here\ncharge"),
    says: [`step 'ship': needs 'chargeId', which neither the input nor an earlier step provides`],
  },
  "a step that needs another type than is provided": {
    source: sagaOf("reserve, // here", "z.object({ sku: z.number() })"),
    says: [`step 'reserve': needs another type of 'sku' than the input or an earlier step provides`],
  },
  "a step that needs what may be absent": {
    source: sagaOf("reserve, // here", "z.object({ sku: z.string().optional() })"),
    says: [`step 'reserve': needs 'sku', which the input and the earlier steps don't always provide`],
  },
  "a step that needs what only some inputs have": {
    source: sagaOf("reserve, // here", "z.union([z.object({ sku: z.string() }), z.object({ ean: z.string() })])"),
    says: [`step 'reserve': needs 'sku', which the input and the earlier steps don't always provide`],
  },
  "a step whose needs fail as a whole": {
    source: sagaOf(
      "look,\nstep({ name: 'either', nothingToUndo: true, run: async (order: { ean: string } | { isbn: string }) => { order; } }), // here",
    ),
    says: [`step 'either': needs a context that the input and the earlier steps don't provide`],
  },
  "several needs that nothing provides": {
    source: sagaOf(
      "step({ name: 'two', nothingToUndo: true, run: async (order: { a: 1; b: 2 }) => { order; } }), // here",
    ),
    says: [`step 'two': needs 'a', which neither`, `step 'two': needs 'b', which neither`],
  },
  "two pivots": {
    source: sagaOf("reserve, charge,\nnamed(charge, 'charge-again', { into: 'again' }), // here\nship"),
    says: [`step 'charge-again': is a second pivot, after 'charge'; a saga has at most one`],
  },
  "a compensation after the pivot": {
    source: sagaOf("charge,\nreserve, // here\nship"),
    says: [`step 'reserve': comes after the pivot 'charge', where nothing is undone, so it can't have compensate`],
  },
  "a step before the pivot that can't be undone": {
    source: sagaOf("step({ name: 'bare', run: async () => {} }), // here\ncharge"),
    says: [`step 'bare': can be rolled back, so it needs compensate, or nothingToUndo: true`],
  },
  "a step of a saga without a pivot that can't be undone": {
    source: sagaOf("reserve,\nstep({ name: 'bare', run: async () => {} }), // here"),
    says: [`step 'bare': can be rolled back, so it needs compensate, or nothingToUndo: true`],
  },
  "a step with both compensate and nothingToUndo": {
    source: sagaOf(
      "step({ name: 'torn', run: async () => {}, compensate: async () => {}, nothingToUndo: true }), // here",
    ),
    says: [`step 'torn': has both compensate and nothingToUndo; keep one of the two`],
  },
  "two steps of one name": {
    source: sagaOf("look,\nlook, // here\ncharge"),
    says: [`step 'look': an earlier step has the same name; use named(step, 'another name')`],
  },
  "a key that the input provides already": {
    source: sagaOf("reserve, // here", "z.object({ sku: z.string(), reservationId: z.string().optional() })"),
    says: [`step 'reserve': gives 'reservationId', which the input or an earlier step gives already; use named(`],
  },
  "a key that an earlier step provides already": {
    source: sagaOf("reserve,\nnamed(reserve, 'reserve-more'), // here"),
    says: [`step 'reserve-more': gives 'reservationId', which the input or an earlier step gives already`],
  },
  "a key that only one outcome of an earlier step provides": {
    source: sagaOf(
      "step({ name: 'try', nothingToUndo: true, run: async () => (Date.now() ? { ok: true, reservationId: 'r' } : { ok: false }) }),\nreserve, // here",
    ),
    says: [`step 'reserve': gives 'reservationId', which the input or an earlier step gives already`],
  },
  "an output that is a primitive": {
    source: sagaOf("step({ name: 'count', nothingToUndo: true, run: async () => 5 }), // here"),
    says: [`step 'count': gives a primitive value; an output is a plain object or nothing`],
  },
  "an output that is null": {
    source: sagaOf("step({ name: 'none', nothingToUndo: true, run: async () => null }), // here"),
    says: [`step 'none': gives null; an output is a plain object or nothing`],
  },
  "an output that is a list": {
    source: sagaOf("step({ name: 'lines', nothingToUndo: true, run: async () => ['a'] }), // here"),
    says: [`step 'lines': gives an array; an output is a plain object or nothing`],
  },
  "an output that is a function": {
    source: sagaOf("step({ name: 'later', nothingToUndo: true, run: async () => () => 1 }), // here"),
    says: [`step 'later': gives a function; an output is a plain object or nothing`],
  },
  "an output of a built-in class": {
    source: sagaOf("step({ name: 'when', nothingToUndo: true, run: async () => new Date() }), // here"),
    says: [`step 'when': gives an object of a built-in class; an output is a plain object or nothing`],
  },
  "an output of unknown type": {
    source: sagaOf("step({ name: 'what', nothingToUndo: true, run: async (): Promise<unknown> => ({}) }), // here"),
    says: [`step 'what': gives a value of unknown type; an output is a plain object or nothing`],
  },
  "a list as output, also under a key of its own": {
    source: sagaOf(
      "named(step({ name: 'lines', nothingToUndo: true, run: async () => ['a'] }), 'under', { into: 'lines' }), // here",
    ),
    says: [`step 'under': gives an array; an output is a plain object or nothing`],
  },
  "a name with a slash": {
    source: sagaOf("step({ name: 'a/b', nothingToUndo: true, run: async () => {} }), // here"),
    says: [`step 'a/b': a name is not empty, contains no '/', and is not reserved`],
  },
  "a reserved name": {
    source: sagaOf("step({ name: 'compensate', nothingToUndo: true, run: async () => {} }), // here"),
    says: [`step 'compensate': a name is not empty, contains no '/', and is not reserved`],
  },
  "an empty list": {
    source: `${imports}defineSaga({ name: "order", version: 1, steps: [] }); // here`,
    says: ["a saga has at least one step"],
  },
  "an element that is no step": {
    source: sagaOf("look,\n{ name: 'plain', run: async () => {} }, // here"),
    says: ["this element was not made by step(), pivot() or named()"],
  },
  "a faulty list that was made elsewhere": {
    source: `${imports}const list = [look, ship] as const;
defineSaga({ name: "order", version: 1, input, steps: list }); // here`,
    says: ["Type at position 1 in source", `step 'ship': needs 'chargeId', which neither the input nor`],
  },
  "an input that is no object": {
    source: `${imports}defineSaga({ name: "order", version: 1, steps: [look],
input: z.array(z.string()), // here
});`,
    says: ["the input is an array; it has to be a plain object, the context that a saga begins with"],
  },
  "a pivot with a compensation": {
    source: `${imports}pivot({ name: "pay", run: async () => {},
compensate: async () => {}, // here
});`,
    says: [`pivot 'pay': a pivot can't be undone, so it takes no compensate`],
  },
  "a pivot that claims that there is nothing to undo": {
    source: `${imports}pivot({ name: "pay", run: async () => {},
nothingToUndo: true, // here
});`,
    says: [`pivot 'pay': a pivot can't be undone, so it takes no nothingToUndo`],
  },
  "a transactional step with reconcile": {
    source: `${imports}step({ name: "book", transaction: true, nothingToUndo: true, run: async () => {},
reconcile: async () => undefined, // here
});`,
    says: [`step 'book': a transactional step is never in doubt, so it takes no reconcile`],
  },
  "an unknown option of a step": {
    source: `${imports}step({ name: "typo", run: async (order: { sku: string }, { key }) => ({ key, order }),
nothingToUdo: true, // here
});`,
    says: [`'nothingToUdo' does not exist`, `Did you mean to write 'nothingToUndo'?`],
  },
  "a run that does not return what its output schema accepts": {
    source: `${imports}step({ name: "mismatch", nothingToUndo: true, output: z.object({ id: z.string() }),
run: async () => ({ id: 5 }), // here
});`,
    says: ["Type 'number' is not assignable to type 'string'"],
  },
  "a reconcile that gives another output than run": {
    source: `${imports}pivot({ name: "pay", run: async (_: unknown, { key }) => ({ chargeId: key }),
reconcile: async () => ({ happened: true, output: {} }), // here
});`,
    says: ["Property 'chargeId' is missing"],
  },
  "a duration with a typo": {
    source: `${imports}
const d: Duration = "15x"; // here`,
    says: [`Type '"15x"' is not assignable to type 'Duration'`],
  },
} satisfies Record<string, { source: string; says: string[] }>;

const sound = sagaOf("reserve, look, charge, ship");

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
