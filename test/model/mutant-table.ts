// THE MISTAKES that the explorer has to find, each as a change of source text, with the sagas in which it shows. A change
// that does not apply any more fails the hunt: mend it here when the source moves on.

import { type Mutant, mutant } from "./mutant.js";
import { waitMutants } from "./mutants-of-waits.js";
import type { ExploreOptions } from "./shapes.js";

const fold = "src/core/fold.ts";
const loss = "src/core/fold-loss.ts";
const words = "src/core/fold-words.ts";
const underWay = "src/core/under-way.ts";
const units = "src/core/units.ts";
const decide = "src/core/decide.ts";
const record = "src/core/record.ts";
const verbs = "src/core/verbs.ts";
const owner = "test/model/owner.ts";
const bodies = "test/model/body-moves.ts";
const workers = "test/model/worker-moves.ts";

const withoutZombies: ExploreOptions = {
  kinds: ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer"],
};

export const mutants: readonly Mutant[] = [
  mutant(
    "doubt is not compensated",
    units,
    ": step.done !== undefined || step.doubt;",
    ": step.done !== undefined;",
    "c",
  ),
  mutant("what never happened is compensated", units, ": step.done !== undefined || step.doubt;", ": true;", "c c"),
  mutant("what needs no undoing is compensated", units, "if (!unit.undone || step.undone", "if (step.undone", "cn"),
  mutant(
    "doubt is cleared by a definite error",
    record,
    '(state.steps[step]!.doubt || threw.happened === "maybe")',
    'threw.happened === "maybe"',
    "c",
  ),
  mutant(
    "a transactional step is in doubt when its error says so",
    record,
    "forward && !unit.transactional && (",
    "forward && (",
    "ct",
  ),
  mutant("a takeover leaves no doubt", loss, "asks, doubt: true, unsettledSince", "asks, unsettledSince", "c"),
  mutant("a hand-over leaves no doubt", fold, "released(afterLoss(shape, state, false))", "released(state)", "c"),
  mutant(
    "a parked run that is taken up again forgets that a body may run",
    underWay,
    "const next = madeNext(shape, state, beside)",
    'const parked = entry.kind === "taken_up" && entry.from === undefined;\n' +
      "  const next = (parked ? [] : madeNext(shape, state, beside))",
    "c",
  ),
  mutant(
    "a retry forgets doubt",
    words,
    "final: false, asks: 0 })];",
    "final: false, asks: 0, doubt: false })];",
    "c P",
  ),
  mutant(
    "a pivot in doubt is rolled back",
    decide,
    'failed === "definite" ? turnBack("failure") : append({ kind: "finished", status: "in_doubt" })',
    'turnBack("failure")',
    "P",
  ),
  mutant(
    "a pivot in doubt is passed",
    units,
    "shape.steps.find((step) => state.steps[step.name]!.done === undefined)",
    'shape.steps.find((step) => state.steps[step.name]!.done === undefined && !(step.kind === "pivot" && state.steps[step.name]!.failed === "in_doubt"))',
    "P r",
  ),
  mutant(
    "a terminal error of a pivot in doubt waits for ever",
    record,
    'if (unit.kind === "pivot" && doubt && policy.maxAsks > 0) return [{ ...failed, final: true }];',
    'if (unit.kind === "pivot" && doubt) return [{ ...failed, final: false }];',
    "P*",
  ),
  mutant("an ask is forgotten", words, "if (causeStands) return due;", "return due;", "c"),
  mutant(
    "an ask is accepted after the pivot",
    verbs,
    "if (pivot !== undefined && state.pivotEntered)",
    "if (pivot !== undefined && state.pivotEntered && state.last < 0)",
    "c P",
  ),
  mutant(
    "an ask is accepted after the last step",
    verbs,
    'if (state.finished !== undefined) return { entries: [], answer: "finished" };',
    'if (state.finished !== undefined && state.finished.status !== "completed") return { entries: [], answer: "finished" };',
    "c",
  ),
  mutant(
    "an ask ends a run that has something to undo",
    verbs,
    "if (state.owner === undefined && owedSteps(shape, state).length === 0)",
    "if (state.owner === undefined)",
    "c",
  ),
  mutant(
    "an ask ends a run that is driven",
    verbs,
    "if (state.owner === undefined && owedSteps(shape, state).length === 0)",
    "if (owedSteps(shape, state).length === 0)",
    "c",
  ),
  mutant(
    "the turn is written while something forward is under way",
    verbs,
    'return { entries: [asked], answer: "cancelling" };',
    'return { entries: [asked, { kind: "rollback_started", cause: "cancel" }], answer: "cancelling" };',
    "c",
  ),
  mutant(
    "the deadline beats an ask",
    decide,
    'if (state.cancel !== undefined) return turnBack("cancel");',
    'if (state.cancel !== undefined) return turnBack(context.now >= context.policies.deadlineAt ? "deadline" : "cancel");',
    "c",
  ),
  {
    name: "a later failure beats an ask",
    mistakes: [
      { file: record, from: "causeStands = state.cancel !== undefined ||", to: "causeStands =" },
      {
        file: decide,
        from: 'if (state.cancel !== undefined) return turnBack("cancel");',
        to: 'if (state.cancel !== undefined && state.failure === undefined) return turnBack("cancel");',
      },
    ],
    hunts: [["c", {}]],
  },
  mutant(
    "a later ask overwrites the cause",
    words,
    "if (causeStands) return due;",
    'if (state.rollback !== undefined) return { ...due, rollback: "cancel" };\n  if (causeStands) return due;',
    "c",
  ),
  mutant(
    "the deadline passes a pivot",
    decide,
    "return !state.pivotEntered && context.now >= context.policies.deadlineAt",
    "return context.now >= context.policies.deadlineAt",
    "P",
  ),
  mutant(
    "a failed compensation ends clean",
    decide,
    'if (Object.values(state.steps).some((step) => step.undoFailed !== undefined)) return "compensation_failed";',
    "",
    "c",
  ),
  mutant(
    "a failed compensation stops the rollback",
    decide,
    "if (owed === undefined) return append(",
    "if (owed === undefined || Object.values(state.steps).some((step) => step.undoFailed !== undefined)) return append(",
    ["c c", withoutZombies],
  ),
  mutant(
    "steps are undone in the order in which they were done",
    units,
    "inOrder(shape, state).findLast(",
    "unitsOf(shape, state).find(",
    ["c c", withoutZombies],
  ),
  mutant(
    "a rollback that is taken over starts again",
    fold,
    "const known = entry.from === undefined ? state : afterLoss(shape, state, entry.crash);",
    "const lost = entry.from === undefined ? state : afterLoss(shape, state, entry.crash);\n" +
      "      const steps = Object.entries(lost.steps).map(([name, step]) => [name, { ...step, undone: false }]);\n" +
      "      const known = { ...lost, steps: Object.fromEntries(steps) };",
    ["c c", withoutZombies],
  ),
  mutant(
    "a budget is off by one where the next try is decided",
    decide,
    "if (tried.attempts >= retry.maxAttempts) return true;",
    "if (tried.attempts > retry.maxAttempts) return true;",
    "c",
  ),
  mutant(
    "a budget is off by one where a failure is recorded",
    record,
    "attempts >= retry.maxAttempts",
    "attempts > retry.maxAttempts",
    "c",
  ),
  mutant(
    "a crash uses up no attempt",
    loss,
    "attempts: tried.attempts + 1, crashes",
    "attempts: tried.attempts, crashes",
    "c",
  ),
  mutant(
    "what may not begin twice is begun again after a hand-over",
    decide,
    "return tried.interrupted;",
    "return false;",
    "c1",
  ),
  mutant(
    "a step in doubt is run again instead of being asked about",
    decide,
    'if (askable && (!spent || shape.kind === "pivot"))',
    "if (askable && spent)",
    "c?",
  ),
  mutant(
    "an answer of `reconcile` is no entry",
    record,
    "if (isVoid(shape, state, action, outcome)) return undefined;",
    'if (isVoid(shape, state, action, outcome) || outcome.kind === "answered") return undefined;',
    "P?",
  ),
  mutant(
    "`happened: false` does not promise the future",
    bodies,
    'scene.run.peer === "tombstones" ? { voided: true } : {}',
    "{}",
    "c P?",
  ),
  mutant(
    "a step is compensated while its lost attempt may still run",
    decide,
    "const quiet = step.done === undefined ? quietAt(step, policy, context) : context.now;",
    "const quiet = context.now;",
    ["c", { peer: "bounded" }],
  ),
  mutant(
    "a step is asked about while its lost attempt may still run",
    decide,
    "return after(Math.max(step.forward.retryAt, quietAt(step, policy, context)), context, {",
    "return after(step.forward.retryAt, context, {",
    ["c? P?", { peer: "bounded" }],
  ),
  mutant(
    "the key has the attempt in it",
    owner,
    'if (action.kind !== "run" || action.direction === "forward") return',
    'if (action.kind === "run" && action.attempt > 1) return "another";\n' +
      '  if (action.kind !== "run" || action.direction === "forward") return',
    "c",
  ),
  mutant(
    "`finished` is in a row of its own",
    record,
    "if (next.owner === undefined) return row;",
    'if (next.owner === undefined) return row;\n    if (row.length > 0 && decide(shape, next, context).kind === "append") return row;',
    "c",
  ),
  mutant(
    "a pivot's body starts before its entry",
    decide,
    'if (first!.kind === "pivot" && !first!.transactional && !state.pivotEntered)',
    'if (first!.kind === "pivot" && !first!.transactional && !state.pivotEntered && state.last < 0)',
    "c P",
  ),
  mutant(
    "a transactional pivot is entered early",
    decide,
    'if (first!.kind === "pivot" && !first!.transactional && !state.pivotEntered)',
    'if (first!.kind === "pivot" && !state.pivotEntered)',
    "Pt",
  ),
  mutant(
    "a transaction commits before its entry",
    bodies,
    "const transactional = isTransactional(scene.run, step);",
    "const transactional = isTransactional(scene.run, step) && scene.world.left > 9;",
    "ct",
  ),
  mutant(
    "a transactional outcome is appended blindly at the next number",
    owner,
    "const entries = recorded(around, owner, journal);",
    "const entries = recorded(around, owner, view);",
    "ct Pt",
  ),
  mutant(
    "a transactional step that was asked to stop commits",
    record,
    'return unit.transactional && outcome.kind === "returned" && state.cancel !== undefined;',
    "return false;",
    "Pt",
  ),
  mutant(
    "a zombie adopts the run and goes on",
    owner,
    "return state.owner !== undefined && current;",
    "return state.owner !== undefined;",
    "c",
  ),
  mutant(
    "a row is written whether or not its number is taken",
    owner,
    "return view !== journal || !current;",
    "return view === undefined || journal === undefined || current === undefined;",
    "c",
  ),
  {
    name: "a claim writes no `taken_up`",
    mistakes: [
      {
        file: workers,
        from: "journal: appended.journal,",
        to: "journal: over === undefined ? world.journal : appended.journal,",
      },
      {
        file: workers,
        from: "scene.reads(taken, owner, appended.journal), appended });",
        to: "scene.reads(taken, owner, taken.journal) });",
      },
      {
        file: owner,
        from: "return state.owner !== undefined && current;",
        to: "return state.finished === undefined && current;",
      },
    ],
    hunts: [["c", {}]],
  },
  mutant(
    "the late outcome of a step that an operator settled is recorded",
    record,
    "if (step.done !== undefined || step.failed !== undefined) return true;",
    "",
    "P r",
  ),
  mutant(
    "what an operator settled as not done can be settled again as done",
    verbs,
    "if (state.finished === undefined && isToTurn(shape, state))",
    "if (state.finished === undefined && isToTurn(shape, state) && state.last < 0)",
    "P",
  ),
  mutant(
    "what an operator settled as not done is tried again",
    verbs,
    "if (state.rollback === undefined && state.failure !== undefined) return !isToTurn(shape, state);",
    "",
    "P",
  ),
  ...waitMutants,
];
