// The rules themselves: each is broken once, in the raw rows, and says so.

import { describe, expect, test } from "vitest";
import type { Entry, Row, TakenUp } from "../../../src/core/entry.js";
import { checkJournal, type Violation } from "../../../src/core/rules.js";
import { returned, Story, type StoryOptions, shapeOf, story, threw } from "./story.js";

const error = { name: "Error", message: "no" };
const output = { format: "text", text: "1" };
const taken: TakenUp = { kind: "taken_up", worker: "w", token: "a", crash: false };
const completed = (step: string, attempt = 1): Entry => ({ kind: "step_completed", step, output, attempt });
const failedAs = (step: string, doubt: "definite" | "in_doubt", attempts = 1): Entry => ({
  kind: "step_failed",
  step,
  attempts,
  error,
  doubt,
});
const tried = (step: string, more: Partial<Extract<Entry, { kind: "attempt_failed" }>> = {}): Entry => ({
  kind: "attempt_failed",
  step,
  direction: "forward",
  attempt: 1,
  attempts: 1,
  counted: true,
  failures: 1,
  error,
  doubt: false,
  final: false,
  retryAt: 0,
  ...more,
});
const reconciled = (step: string, asks = 1): Entry => ({
  kind: "reconciled",
  step,
  answer: "cannot_tell",
  asks,
  askAt: 0,
});
const entered: Entry = { kind: "pivot_entered", step: "P" };
const asked: Entry = { kind: "cancel_requested", by: "ana" };
const refused: Entry = { kind: "cancel_refused", by: "ana", pivot: "P" };
const turned = (cause: "failure" | "cancel" | "deadline"): Entry => ({ kind: "rollback_started", cause });
const undone = (step: string): Entry => ({ kind: "step_compensated", step, attempt: 1 });
const owed = (step: string, attempts = 1): Entry => ({ kind: "compensation_failed", step, attempts, error });
const resolved = (step: string, as: "done" | "not_done" | "undone"): Entry => ({
  kind: "resolved",
  step,
  as,
  by: "ana",
});
const retried: Entry = { kind: "retried", by: "ana" };
const finished = (status: Extract<Entry, { kind: "finished" }>["status"]): Entry => ({ kind: "finished", status });

function rowsOf(...rows: (readonly Entry[])[]): Row[] {
  return rows.map((entries, index) => ({ number: index + 1, at: 1_000, entries, nonce: "" }));
}

function broken(names: string, ...rows: (readonly Entry[])[]): string[] {
  return checkJournal(shapeOf(names), rowsOf(...rows)).map(({ rule }) => rule);
}

function against(names: string, options: StoryOptions, ...rows: (readonly Entry[])[]): Violation[] {
  const { policies } = new Story(names, options);
  return checkJournal(shapeOf(names), rowsOf(...rows), { policies });
}

const rules = {
  known: "1.1 every entry is about a step of the saga",
  order: "1.1 a step moves forward only when it was made next, in the order of the list",
  owner: "1.2 only an owner writes what an owner does",
  numbers: "1.2 numbers go 1, 2, 3 … without gaps, and no row is empty",
  takeover: "1.3 a taking up names the owner that it takes the run from, and only that one",
  totals: "1.3 the totals of a failed attempt follow from the entries before it",
  again: "1.3 an attempt that failed is told as such only when another try, or an ask, will follow",
  together: "1.3 what follows from an entry without anything being done is in its row",
  last: "1.3 the end is the last entry, until an operator reopens an end that is not consistent",
  word: "1.4 the end's word is what the journal says",
  operator: "1.4 an operator settles and retries only what is open",
  doubt: "1.5 doubt stays until a success, reconcile or an operator clears it: a definite error does not",
  ask: "1.5 only a step in doubt is asked about",
  transactional: "1.5 a transactional step is never in doubt",
  budget: "1.6 no budget is exceeded",
  cancel: "1.7 an ask is accepted before the pivot and refused after it",
  cause: "1.7 the cause is whichever of ask, failure and deadline is first",
  turn: "1.8 a saga turns back once, and never with its pivot entered unless that definitely failed",
  undo: "1.8 only what did or may have happened is compensated, once, last step first, after the turn",
  pivot: "1.10 the pivot is entered once, when it is next, and never after an ask",
} as const;

describe("rows and owners", () => {
  test("a journal that the core wrote breaks no rule", () => {
    const run = story("c1 c2 P r1").crashes().comesTo(returned(), threw.maybe, returned(), threw.definitely).goesWell();
    expect(checkJournal(run.shape, run.rows, { policies: run.policies })).toEqual([]);
  });

  test("a violation names its rule, its row, and what is wrong", () => {
    const [first, second] = rowsOf([taken], [completed("c1")]);
    expect(checkJournal(shapeOf("c1 c2"), [first!, { ...second!, number: 3 }])).toEqual([
      { rule: rules.numbers, number: 3, what: "3 after 1" },
    ]);
  });

  test("an empty row", () => expect(broken("c1", [taken], [])).toEqual([rules.numbers]));

  test("an entry of an owner's while nobody drives the run", () => {
    expect(broken("c1", [{ kind: "parked", until: 0 }])).toEqual([rules.owner]);
    expect(broken("c1", [{ kind: "handed_over", worker: "w" }])).toEqual([rules.owner]);
    expect(broken("c1", [turned("deadline"), finished("timed_out")])).toEqual([rules.owner, rules.owner]);
  });

  test("a taking up of a run that is driven, or from an owner that it does not have, or under the same token", () => {
    expect(broken("c1", [taken], [{ ...taken, token: "b" }])).toEqual([rules.takeover]);
    expect(broken("c1", [{ ...taken, from: "z" }])).toEqual([rules.takeover]);
    expect(broken("c1", [taken], [{ ...taken, from: "a" }])).toEqual([rules.takeover]);
    expect(broken("c1", [taken], [{ ...taken, token: "b", from: "a" }])).toEqual([]);
  });
});

describe("going forward", () => {
  test("a step out of its order, twice, or of a run that was told to turn back", () => {
    expect(broken("c1 c2", [taken], [completed("c2")])).toEqual([rules.order]);
    expect(broken("c1 c2", [taken], [completed("c1")], [completed("c1")])).toEqual([rules.order]);
    expect(broken("c1 c2", [taken], [tried("c2")])).toEqual([rules.order]);
    expect(
      broken(
        "c1 c2",
        [taken],
        [completed("c1")],
        [asked],
        [tried("c2")],
        [failedAs("c2", "definite"), turned("cancel")],
      ),
    ).toEqual([rules.order]);
  });

  test("an answer while rolling back about what is not next to be undone", () => {
    const doubtful = [tried("c1", { doubt: true })];
    const rows = [[taken], doubtful, [asked], [turned("cancel")]];
    expect(broken("c1 c2", ...rows, [reconciled("c1")])).toEqual([]);
    expect(broken("c1 c2", ...rows, [completed("c1")])).toEqual([]);
    expect(broken("c1 c2", ...rows, [completed("c2")])).toEqual([rules.order]);
  });

  test("totals that do not follow", () => {
    expect(broken("c1", [taken], [tried("c1", { attempts: 2 })])).toEqual([rules.totals]);
    expect(broken("c1", [taken], [tried("c1", { counted: false })])).toEqual([rules.totals]);
    const undo = { direction: "compensate" } as const;
    const rows = [[taken], [completed("c1")], [failedAs("c2", "definite"), turned("failure")]];
    expect(broken("c1 c2", ...rows, [tried("c1", undo)], [tried("c1", { ...undo, attempts: 3 })])).toEqual([
      rules.totals,
    ]);
  });

  test("a failed attempt that is the step's failure as well", () => {
    expect(
      broken("c1", [taken], [tried("c1"), failedAs("c1", "definite"), turned("failure"), finished("failed")]),
    ).toEqual([rules.again]);
  });

  test("what follows at once left for another row", () => {
    expect(broken("c1", [taken], [completed("c1")])).toEqual([rules.together]);
    expect(broken("c1", [taken], [failedAs("c1", "definite")])).toEqual([rules.together]);
    expect(broken("c1", [taken], [asked], [turned("cancel")])).toEqual([rules.together]);
    const rows = [[taken], [completed("c1")], [failedAs("c2", "definite"), turned("failure")]];
    expect(broken("c1 c2", ...rows, [undone("c1")])).toEqual([rules.together]);
    expect(broken("c1 c2", ...rows, [owed("c1")])).toEqual([rules.together]);
  });
});

describe("the pivot", () => {
  test("tried before it was entered", () => expect(broken("P r1", [taken], [completed("P")])).toEqual([rules.order]));

  test("entered twice, out of its turn, after an ask, or where there is none", () => {
    expect(broken("P r1", [taken], [entered], [entered])).toEqual([rules.pivot]);
    expect(broken("c1 P", [taken], [entered])).toEqual([rules.pivot]);
    expect(broken("P", [taken], [asked], [entered])).toEqual([rules.pivot]);
    expect(broken("c1", [taken], [{ ...entered, step: "c1" }])).toEqual([rules.pivot]);
    expect(broken("c1 P", [taken], [{ ...entered, step: "c1" }])).toEqual([rules.pivot]);
  });

  test("transactional, and entered without being completed", () => {
    const step = "Pt";
    expect(broken("Pt r1", [taken], [{ ...entered, step }])).toEqual([rules.pivot]);
    expect(broken("Pt r1", [taken], [{ ...entered, step }, completed(step)])).toEqual([]);
  });

  test("rolled back in doubt, or after it was done", () => {
    const rows = [[taken], [completed("c1"), entered]];
    expect(broken("c1 P", ...rows, [failedAs("P", "in_doubt"), turned("failure")])).toEqual([rules.turn]);
    expect(broken("c1 P", ...rows, [failedAs("P", "definite"), turned("failure")])).toEqual([]);
    expect(broken("c1 P r1", ...rows, [completed("P")], [turned("deadline")])).toEqual([rules.turn]);
  });
});

describe("doubt", () => {
  test("cleared by a definite error", () => {
    const doubtful = [tried("c1", { doubt: true })];
    expect(broken("c1", [taken], doubtful, [tried("c1", { attempts: 2 })])).toEqual([rules.doubt]);
    expect(broken("c1", [taken], doubtful, [failedAs("c1", "definite"), turned("failure")])).toContain(rules.doubt);
    expect(broken("c1", [taken], [{ ...taken, token: "b", from: "a" }], [tried("c1")])).toEqual([rules.doubt]);
    expect(broken("c1", [taken], [{ kind: "handed_over", worker: "w" }], [taken], [tried("c1")])).toEqual([
      rules.doubt,
    ]);
  });

  test("cleared by `reconcile`, or by an operator, is cleared", () => {
    const doubtful = [tried("P", { doubt: true })];
    const no: Entry = { kind: "reconciled", step: "P", answer: "not_happened", asks: 1, askAt: 0 };
    expect(broken("P r1", [taken], [entered], doubtful, [no], [tried("P", { attempts: 2 })])).toEqual([]);
    expect(
      broken("P r1", [taken], [entered], doubtful, [resolved("P", "done")], [completed("r1"), finished("completed")]),
    ).toEqual([]);
  });

  test("asked about where there is none", () => expect(broken("c1", [taken], [reconciled("c1")])).toEqual([rules.ask]));

  test("of a transactional step", () => {
    expect(broken("c1t", [taken], [tried("c1t", { doubt: true })])).toEqual([rules.transactional]);
    const rows = [failedAs("c1t", "in_doubt"), turned("failure")];
    expect(broken("c1t", [taken], rows)).toEqual([rules.transactional]);
    expect(broken("c1t", [taken], [reconciled("c1t")])).toEqual([rules.ask, rules.transactional]);
    expect(
      broken("c1t", [taken], [{ ...taken, token: "b", from: "a", crash: true }], [tried("c1t", { attempts: 2 })]),
    ).toEqual([]);
  });
});

describe("asks to stop, and causes", () => {
  test("accepted after the pivot was entered, refused before it or under another's name", () => {
    expect(broken("P", [taken], [entered], [asked])).toEqual([rules.cancel]);
    expect(broken("P", [taken], [refused])).toEqual([rules.cancel]);
    expect(broken("P", [taken], [entered], [{ ...refused, pivot: "Q" }])).toEqual([rules.cancel]);
    const failed = [failedAs("P", "definite"), turned("failure")];
    expect(broken("c1 P", [taken], [completed("c1"), entered], failed, [refused])).toEqual([rules.cancel]);
  });

  test("a cause that was not first", () => {
    expect(broken("c1 c2", [taken], [completed("c1")], [asked], [turned("deadline")])).toEqual([rules.cause]);
    expect(broken("c1 c2", [taken], [completed("c1")], [turned("cancel")])).toEqual([rules.cause]);
    const failed = [failedAs("c2", "definite"), turned("cancel")];
    expect(broken("c1 c2", [taken], [completed("c1")], failed)).toEqual([rules.cause]);
  });

  test("a deadline that had not passed, or that the last step beat", () => {
    const rows = [[taken], [completed("c1")], [turned("deadline")]];
    expect(against("c1 c2", { deadlineAt: 1_000 }, ...rows)).toEqual([]);
    expect(against("c1 c2", { deadlineAt: 1_001 }, ...rows)).toMatchObject([{ rule: rules.cause }]);
    expect(broken("c1", [taken], [completed("c1"), turned("deadline")])).toEqual([rules.cause]);
  });

  test("a second turn", () => {
    const rows = [[taken], [completed("c1")], [asked], [turned("cancel")]];
    expect(broken("c1 c2", ...rows, [turned("cancel")])).toEqual([rules.turn]);
  });
});

describe("rolling back", () => {
  const rows = [[taken], [completed("c1")], [completed("c2")], [failedAs("c3", "definite"), turned("failure")]];

  test("a compensation before the turn, out of order, twice, or of what never happened", () => {
    expect(broken("c1 c2", [taken], [completed("c1")], [undone("c1")])).toEqual([rules.undo]);
    expect(broken("c1 c2 c3", ...rows, [undone("c1")])).toEqual([rules.undo]);
    expect(broken("c1 c2 c3", ...rows, [undone("c2")], [undone("c2")])).toEqual([rules.undo]);
    expect(broken("c1 c2 c3", ...rows, [undone("c3")])).toEqual([rules.undo]);
    expect(broken("c1 c2 c3", ...rows, [owed("c1")])).toEqual([rules.undo]);
    expect(broken("c1 c2 c3", ...rows, [tried("c1", { direction: "compensate" })])).toEqual([rules.undo]);
    expect(
      broken(
        "c1n c2",
        [taken],
        [completed("c1n")],
        [failedAs("c2", "definite"), turned("failure"), undone("c1n"), finished("failed")],
      ),
    ).toEqual([rules.undo]);
  });

  test("the compensation that was under way when an operator changed what is next", () => {
    expect(
      broken("c1 c2 c3", ...rows, [owed("c2")], [retried], [undone("c1")], [undone("c2"), finished("failed")]),
    ).toEqual([]);
    expect(broken("c1 c2 c3", ...rows, [resolved("c2", "undone")], [undone("c1"), finished("failed")])).toEqual([]);
  });
});

describe("the end", () => {
  test("is not followed by anything, unless an operator reopens what is not consistent", () => {
    expect(broken("c1", [taken], [completed("c1"), finished("completed")], [asked])).toEqual([rules.last]);
    expect(broken("c1", [taken], [completed("c1"), finished("completed")], [retried])).toEqual([rules.last]);
    const incomplete = [
      [taken],
      [entered],
      [completed("P")],
      [failedAs("r1", "definite"), finished("forward_incomplete")],
    ];
    expect(broken("P r1", ...incomplete, [retried])).toEqual([]);
    expect(broken("P r1", ...incomplete, [taken])).toEqual([rules.last]);
  });

  test("completed: not all is done, or it was asked to stop", () => {
    expect(broken("c1 c2", [taken], [completed("c1"), finished("completed")])).toEqual([rules.word]);
    expect(broken("c1", [taken], [asked], [completed("c1"), finished("completed")])).toEqual([rules.word]);
  });

  test("cancelled at once: driven, with something to undo, or asked by nobody", () => {
    expect(broken("c1", [asked, finished("cancelled")])).toEqual([]);
    expect(broken("c1", [taken], [asked, finished("cancelled")])).toEqual([rules.word]);
    const parked: Entry = { kind: "parked", until: 0 };
    expect(broken("c1 c2", [taken], [completed("c1"), parked], [asked, finished("cancelled")])).toEqual([rules.word]);
    expect(broken("c1", [taken], [finished("cancelled")])).toEqual([rules.word]);
  });

  test("failed or timed_out without a rollback", () => {
    expect(broken("c1", [taken], [finished("failed")])).toEqual([rules.word]);
    expect(broken("c1", [taken], [finished("timed_out")])).toEqual([rules.word]);
  });

  test("forward_incomplete and in_doubt, where that is not what happened", () => {
    expect(broken("P r1", [taken], [entered], [finished("forward_incomplete")])).toEqual([rules.word]);
    expect(broken("P r1", [taken], [entered], [completed("P")], [finished("forward_incomplete")])).toEqual([
      rules.word,
    ]);
    expect(broken("P", [taken], [entered], [finished("in_doubt")])).toEqual([rules.word]);
    expect(broken("P r1", [taken], [entered], [completed("P")], [finished("in_doubt")])).toEqual([rules.word]);
  });

  test("of a rollback: something is not undone, or the word is not its cause's", () => {
    const rows = [[taken], [completed("c1")], [asked], [turned("cancel")]];
    expect(broken("c1 c2", ...rows, [finished("cancelled")])).toEqual([rules.word]);
    expect(broken("c1 c2", ...rows, [undone("c1"), finished("failed")])).toEqual([rules.word]);
    expect(broken("c1 c2", ...rows, [owed("c1"), finished("cancelled")])).toEqual([rules.word]);
    expect(broken("c1 c2", ...rows, [owed("c1"), finished("compensation_failed")])).toEqual([]);
  });
});

describe("operators", () => {
  const atPivot = [[taken], [entered], [tried("P", { doubt: true })]];

  test("settling what is not open", () => {
    expect(broken("c1 P", [taken], [resolved("c1", "undone")])).toEqual([rules.operator]);
    expect(broken("P r1", [taken], [resolved("P", "done")])).toEqual([rules.operator]);
    expect(broken("P r1", ...atPivot, [resolved("r1", "done")])).toEqual([rules.operator]);
    expect(broken("P r1", [taken], [entered], [completed("P")], [resolved("r1", "not_done")])).toEqual([
      rules.operator,
    ]);
  });

  test("taking back, before the turn, that the pivot did not happen", () => {
    expect(broken("P r1", ...atPivot, [resolved("P", "not_done")])).toEqual([]);
    expect(broken("P r1", ...atPivot, [resolved("P", "not_done")], [resolved("P", "done")])).toEqual([rules.operator]);
    expect(broken("P r1", ...atPivot, [resolved("P", "not_done")], [retried])).toEqual([rules.operator]);
  });

  test("a retry leaves an ask that came before it", () => {
    const rows = [[taken], [completed("c1")], [tried("c2")], [asked], [retried], [turned("cancel")]];
    expect(broken("c1 c2", ...rows, [undone("c1"), finished("cancelled")])).toEqual([]);
  });
});

describe("budgets, where the policies are known", () => {
  const retry = { maxAttempts: 1, firstDelayMs: 0, maxDelayMs: 0, factor: 1 };
  const once: StoryOptions = { policies: { c1: { retry, compensationRetry: retry, maxAsks: 1 } } };
  const rows = [[taken], [completed("c1")], [failedAs("c2", "definite"), turned("failure")]];
  const doubtful = [tried("c1", { doubt: true })];

  test("are exceeded by executions in either direction", () => {
    expect(against("c1 c2", once, [taken], [completed("c1", 2)])).toMatchObject([
      { rule: rules.budget, what: "2 attempt, where 1 are allowed" },
    ]);
    expect(against("c1 c2", once, [taken], [tried("c1")], [tried("c1", { attempts: 2 })])).toMatchObject([
      { rule: rules.budget },
    ]);
    expect(
      against("c1", once, [taken], [failedAs("c1", "definite", 2), turned("failure"), finished("failed")]),
    ).toMatchObject([{ rule: rules.budget }]);
    const undo = { direction: "compensate" } as const;
    expect(against("c1 c2", once, ...rows, [tried("c1", undo)], [tried("c1", { ...undo, attempts: 2 })])).toMatchObject(
      [{ rule: rules.budget }],
    );
    expect(
      against("c1 c2", once, ...rows, [{ kind: "step_compensated", step: "c1", attempt: 2 }, finished("failed")]),
    ).toMatchObject([{ rule: rules.budget }]);
    expect(against("c1 c2", once, ...rows, [owed("c1", 2), finished("compensation_failed")])).toMatchObject([
      { rule: rules.budget },
    ]);
  });

  test("are exceeded by asks, and asks go up", () => {
    expect(against("c1", once, [taken], doubtful, [reconciled("c1", 2)])).toMatchObject([{ rule: rules.budget }]);
    expect(against("c1", once, [taken], doubtful, [reconciled("c1", 1)], [reconciled("c1", 1)])).toMatchObject([
      { rule: rules.budget, what: "ask 1 again" },
    ]);
  });

  test("are not judged where the policies are not known", () => {
    expect(broken("c1 c2", [taken], [completed("c1", 99)])).toEqual([]);
  });

  test("have nothing to say of what is no execution", () => {
    expect(against("P r1", {}, [taken], [entered], [tried("P", { doubt: true })], [resolved("P", "done")])).toEqual([]);
  });
});

test("an entry about a step that the shape does not have is told of, and changes nothing", () => {
  expect(broken("c1", [taken], [completed("c9")])).toEqual([rules.known]);
});
