// THE MISTAKES about what waits, is skipped, is listed, is a run of its own, or runs beside something else.

import { mutant } from "./mutant.js";
import type { Disturbance, ExploreOptions } from "./shapes.js";

const fold = "src/core/fold.ts";
const decide = "src/core/decide.ts";
const record = "src/core/record.ts";
const units = "src/core/units.ts";

const only = (disturbances: number, ...kinds: readonly Disturbance[]): ExploreOptions => ({ disturbances, kinds });

/** A taking over that forgets something which the journal had settled once and for all. */
const forgets = (what: string): string =>
  "const lost = entry.from === undefined ? state : afterLoss(shape, state, entry.crash);\n" +
  `      const steps = Object.entries(lost.steps).map(([name, { ${what}: _forgotten, ...step }]) => [name, step]);\n` +
  "      const known = entry.from === undefined ? lost : { ...lost, steps: Object.fromEntries(steps) };";
const takesOver = "const known = entry.from === undefined ? state : afterLoss(shape, state, entry.crash);";

export const waitMutants = [
  mutant(
    "of a pair that is lost only one is in doubt",
    "src/core/fold-loss.ts",
    "return state.underWay.reduce(",
    "return state.underWay.slice(0, 1).reduce(",
    ["c|c", only(1, "crash")],
  ),
  mutant(
    "what runs beside a failure is not told to stop",
    "src/core/abort.ts",
    'if (state.failure !== undefined || context.replay?.unwanted.has(action.step)) return "sibling_failed";',
    "",
    ["c|c", only(0)],
  ),
  mutant(
    "the turn is written while what ran beside it runs on",
    decide,
    "return busy.length > 0 ? forever : turn;",
    "return turn;",
    ["c|c", only(1, "cancel")],
  ),
  mutant(
    "the worker's stop parks a run of which something was given up",
    record,
    '[...row, { kind: "handed_over", worker: context.worker }]',
    '[...row, { kind: "parked", until: context.now }]',
    ["c|c", only(1, "shutdown")],
  ),
  mutant(
    "a hand-over doubts what its own row made next",
    fold,
    'entry.kind === "handed_over" ? withoutUnbegun(before, state) : before',
    "before",
    ["c|c", only(1, "shutdown")],
  ),
  mutant(
    "an ask that the worker's stop aborts parks the run beside a running body",
    record,
    "(context.busy ?? []).length > 0 || context.givenUp === true ? []",
    "context.worker === undefined ? []",
    ["c?|c", only(1, "shutdown")],
  ),
  mutant(
    "an ask past the pivot is accepted while something runs beside what failed",
    "src/core/verbs.ts",
    "return pivot === undefined || !state.pivotEntered || state.steps[pivot.name]!.failed !== undefined;",
    "return true;",
    ["P r|r", only(1, "cancel")],
  ),
  mutant(
    "a timer starts again after a crash",
    fold,
    takesOver,
    forgets("waitUntil"),
    ["z c", only(2, "takeover", "crash")],
    ["z|c", only(1, "crash")],
  ),
  mutant("a signal is consumed twice", "src/core/fold-waits.ts", "line.pending.slice(1)", "line.pending", [
    "w w",
    only(1, "signal"),
  ]),
  mutant("the last signal is consumed first", units, "?.pending[0]", "?.pending.at(-1)", ["w c", only(2, "signal")]),
  mutant(
    "a timeout beats a signal that came before it",
    decide,
    "if (toCompute(unit, state) !== undefined) return compute(unit, state, context);",
    "const late = step.waitUntil !== undefined && step.waitUntil <= context.now;\n" +
      "  if (toCompute(unit, state) !== undefined && !late) return compute(unit, state, context);",
    ["w c", only(1, "signal")],
  ),
  mutant("a skipped step is compensated", units, " || step.holds === false", "", ["ci c", only(0)]),
  mutant("a crash decides a condition again", fold, takesOver, forgets("holds"), ["ci", only(1, "crash")]),
  mutant(
    "items are undone in the order in which they were done",
    units,
    "!.items?.units ??",
    "!.items?.units.toReversed() ??",
    ["e c", only(0)],
  ),
  mutant("a crash lists the items again", fold, takesOver, forgets("items"), ["e", only(1, "crash")]),
  mutant("more items are under way than may be", units, ".slice(0, step.items.concurrency)", "", ["e", only(0)]),
  mutant(
    "a completed child is not taken back",
    units,
    '"child" ? step.child !== undefined :',
    '"child" ? step.child !== undefined && step.done === undefined :',
    ["k c", only(0)],
  ),
  mutant(
    "a live child is not stopped",
    units,
    '"child" ? step.child !== undefined :',
    '"child" ? step.done !== undefined :',
    ["k", only(1, "cancel")],
  ),
  mutant(
    "a child that could not be undone counts as undone",
    "src/core/decide-child.ts",
    "return isUndone(look.status)",
    'return isUndone(look.status) || look.status === "compensation_failed"',
    ["k c", only(0)],
  ),
  mutant("a child is begun after an ask to stop", record, "isTurning(shape, state, context) || ", "", [
    "c k",
    only(1, "cancel"),
  ]),
];
