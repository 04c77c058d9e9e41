// FORTY STEPS, each needing what the one before gave: the checks of a list don't run into the compiler's limits.

import { expectTypeOf } from "vitest";
import { z } from "zod";
import { defineSaga, type OutputOf } from "../../src/definition/define-saga.js";
import { pivot, step } from "../../src/definition/step.js";

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
