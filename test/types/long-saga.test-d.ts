// FORTY STEPS, each needing what the one before gave, and fifty elements of all kinds: the checks of a list don't run into
// the compiler's limits.

import { expectTypeOf } from "vitest";
import { z } from "zod";
import { child } from "../../src/definition/child.js";
import { defineSaga, type OutputOf } from "../../src/definition/define-saga.js";
import { forEach } from "../../src/definition/for-each.js";
import { parallel } from "../../src/definition/parallel.js";
import { sleep } from "../../src/definition/sleep.js";
import { pivot, step } from "../../src/definition/step.js";
import { waitForSignal } from "../../src/definition/wait-for-signal.js";

function next<const N extends number, const M extends number>(from: N, to: M) {
  type Needs = { [K in `key${N}`]: string };
  return {
    name: `step-${from}` as const,
    run: async (context: Needs, { key }: { key: string }) =>
      ({ [`key${to}`]: key + context[`key${from}`], [`deep${to}`]: { list: [to] } }) as { [K in `key${M}`]: string } & {
        [K in `deep${M}`]: { list: number[] };
      },
  } as const;
}

export const long = defineSaga({
  name: "long",
  version: 1,
  input: z.object({ key0: z.string() }),
  steps: [
    step({ ...next(0, 1), compensate: (context, undo) => void [context.key0, undo.output?.key1] }),
    step({ ...next(1, 2), compensate: (context, undo) => void [context.key1, undo.output?.key2] }),
    step({ ...next(2, 3), compensate: (context, undo) => void [context.key2, undo.output?.key3] }),
    step({ ...next(3, 4), compensate: (context, undo) => void [context.key3, undo.output?.key4] }),
    step({ ...next(4, 5), compensate: (context, undo) => void [context.key4, undo.output?.key5] }),
    step({ ...next(5, 6), compensate: (context, undo) => void [context.key5, undo.output?.key6] }),
    step({ ...next(6, 7), compensate: (context, undo) => void [context.key6, undo.output?.key7] }),
    step({ ...next(7, 8), compensate: (context, undo) => void [context.key7, undo.output?.key8] }),
    step({ ...next(8, 9), compensate: (context, undo) => void [context.key8, undo.output?.key9] }),
    step({ ...next(9, 10), compensate: (context, undo) => void [context.key9, undo.output?.key10] }),
    step({ ...next(10, 11), compensate: (context, undo) => void [context.key10, undo.output?.key11] }),
    step({ ...next(11, 12), compensate: (context, undo) => void [context.key11, undo.output?.key12] }),
    step({ ...next(12, 13), compensate: (context, undo) => void [context.key12, undo.output?.key13] }),
    step({ ...next(13, 14), compensate: (context, undo) => void [context.key13, undo.output?.key14] }),
    step({ ...next(14, 15), compensate: (context, undo) => void [context.key14, undo.output?.key15] }),
    step({ ...next(15, 16), compensate: (context, undo) => void [context.key15, undo.output?.key16] }),
    step({ ...next(16, 17), compensate: (context, undo) => void [context.key16, undo.output?.key17] }),
    step({ ...next(17, 18), compensate: (context, undo) => void [context.key17, undo.output?.key18] }),
    step({ ...next(18, 19), compensate: (context, undo) => void [context.key18, undo.output?.key19] }),
    step({ ...next(19, 20), compensate: (context, undo) => void [context.key19, undo.output?.key20] }),
    pivot(next(20, 21)),
    step(next(21, 22)),
    step(next(22, 23)),
    step(next(23, 24)),
    step(next(24, 25)),
    step(next(25, 26)),
    step(next(26, 27)),
    step(next(27, 28)),
    step(next(28, 29)),
    step(next(29, 30)),
    step(next(30, 31)),
    step(next(31, 32)),
    step(next(32, 33)),
    step(next(33, 34)),
    step(next(34, 35)),
    step(next(35, 36)),
    step(next(36, 37)),
    step(next(37, 38)),
    step(next(38, 39)),
    step(next(39, 40)),
  ],
});
expectTypeOf<OutputOf<typeof long>["key40"]>().toEqualTypeOf<string>();
expectTypeOf<OutputOf<typeof long>["deep1"]>().toEqualTypeOf<{ list: number[] }>();
expectTypeOf<keyof OutputOf<typeof long>>().toExtend<`key${number}` | `deep${number}`>();

function perhaps<const N extends number>(number: N) {
  const run = (_: { key0: string }) => ({ [`perhaps${number}`]: 1 }) as { [K in `perhaps${N}`]: number };
  return step({ name: `perhaps-${number}`, nothingToUndo: true, run, when: (_: { go0: object }) => true });
}

function wait<const Name extends string>(name: Name) {
  return waitForSignal({ name, payload: z.object({ by: z.string() }), within: "1h" });
}

function items<const N extends number>(number: N) {
  const one = step({ name: "item", nothingToUndo: true, run: (_: { sku: string }) => ({ label: "l" }) });
  return forEach({ name: `items${number}`, over: (_: { key1: string }) => [{ sku: _.key1 }], step: one });
}

const inner = defineSaga({ name: "inner", version: 1, steps: [sleep({ name: "night", for: "8h" })], output: () => 1 });
function other<const N extends number>(number: N) {
  return child({ name: `child${number}`, saga: inner, input: (_: { key2: string }) => undefined });
}

export const mixed = defineSaga({
  name: "mixed",
  version: 1,
  input: z.object({ key0: z.string() }),
  steps: [
    parallel([step({ ...next(0, 1), nothingToUndo: true }), wait("go0"), sleep({ name: "sleep-0", for: "1s" })]),
    step({ ...next(1, 2), nothingToUndo: true }),
    perhaps(0),
    items(0),
    parallel([step({ ...next(2, 3), nothingToUndo: true }), wait("go1"), sleep({ name: "sleep-1", for: "1s" })]),
    step({ ...next(3, 4), nothingToUndo: true }),
    perhaps(1),
    items(1),
    parallel([step({ ...next(4, 5), nothingToUndo: true }), wait("go2"), sleep({ name: "sleep-2", for: "1s" })]),
    step({ ...next(5, 6), nothingToUndo: true }),
    perhaps(2),
    items(2),
    parallel([step({ ...next(6, 7), nothingToUndo: true }), wait("go3"), sleep({ name: "sleep-3", for: "1s" })]),
    step({ ...next(7, 8), nothingToUndo: true }),
    perhaps(3),
    items(3),
    parallel([step({ ...next(8, 9), nothingToUndo: true }), wait("go4"), sleep({ name: "sleep-4", for: "1s" })]),
    step({ ...next(9, 10), nothingToUndo: true }),
    perhaps(4),
    items(4),
    parallel([step({ ...next(10, 11), nothingToUndo: true }), wait("go5"), sleep({ name: "sleep-5", for: "1s" })]),
    step({ ...next(11, 12), nothingToUndo: true }),
    perhaps(5),
    items(5),
    parallel([step({ ...next(12, 13), nothingToUndo: true }), wait("go6"), sleep({ name: "sleep-6", for: "1s" })]),
    step({ ...next(13, 14), nothingToUndo: true }),
    perhaps(6),
    items(6),
    parallel([step({ ...next(14, 15), nothingToUndo: true }), wait("go7"), sleep({ name: "sleep-7", for: "1s" })]),
    step({ ...next(15, 16), nothingToUndo: true }),
    perhaps(7),
    items(7),
    pivot(next(16, 17)),
    parallel([step(next(17, 18)), wait("go8"), perhaps(8)]),
    step(next(18, 19)),
    other(8),
    parallel([step(next(19, 20)), wait("go9"), perhaps(9)]),
    step(next(20, 21)),
    other(9),
    parallel([step(next(21, 22)), wait("go10"), perhaps(10)]),
    step(next(22, 23)),
    other(10),
    parallel([step(next(23, 24)), wait("go11"), perhaps(11)]),
    step(next(24, 25)),
    other(11),
  ],
});
expectTypeOf<OutputOf<typeof mixed>["key25"]>().toEqualTypeOf<string>();
expectTypeOf<OutputOf<typeof mixed>["perhaps11"]>().toEqualTypeOf<number | undefined>();
expectTypeOf<OutputOf<typeof mixed>["items7"]>().toEqualTypeOf<{ label: string }[]>();
expectTypeOf<OutputOf<typeof mixed>["child11"]>().toEqualTypeOf<number>();
