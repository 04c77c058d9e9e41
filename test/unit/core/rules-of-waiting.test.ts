// The rules about waits, lists, children and what runs side by side: each is broken once, in the raw rows, and says so.

import { describe, expect, test } from "vitest";
import type { EndStatus, Entry } from "../../../src/core/entry.js";
import { checkJournal } from "../../../src/core/rules.js";
import { Story, type StoryOptions, shapeOf } from "./story.js";

const error = { name: "Error", message: "no" };
const value = { format: "text", text: "1" };
const taken: Entry = { kind: "taken_up", worker: "w", token: "a", crash: false };
const done = (step: string, attempt = 1): Entry => ({ kind: "step_completed", step, output: value, attempt });
const failed = (step: string): Entry => ({ kind: "step_failed", step, attempts: 1, error, doubt: "definite" });
const tried = (step: string): Entry => ({
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
});
const started = (until = 0, step = "z"): Entry => ({ kind: "timer_started", step, until });
const fired: Entry = { kind: "timer_fired", step: "z" };
const awaits = (until = 0, step = "w"): Entry => ({ kind: "signal_awaited", step, until });
const sent = (dedupeKey?: string): Entry => ({
  kind: "signal_received",
  signal: "w",
  payload: value,
  ...(dedupeKey === undefined ? {} : { dedupeKey }),
});
const got = (received: number, step = "w"): Entry => ({ kind: "signal_consumed", step, received, payload: value });
const rejected = (received: number): Entry => ({ kind: "signal_rejected", step: "w", received, error });
const timedOut: Entry = { kind: "signal_timed_out", step: "w" };
const decided = (step: string, holds: boolean): Entry => ({ kind: "condition_decided", step, holds });
const listed = (count: number, concurrency = 1): Entry => ({
  kind: "items_listed",
  step: "e",
  items: value,
  count,
  concurrency,
});
const child: Entry = { kind: "child_started", step: "k", runId: "c", input: value };
const childEnded = (status: EndStatus): Entry => ({ kind: "child_finished", step: "k", status });
const asked: Entry = { kind: "cancel_requested", by: "ana" };
const turned = (cause: "failure" | "cancel"): Entry => ({ kind: "rollback_started", cause });
const undone = (step: string): Entry => ({ kind: "step_compensated", step, attempt: 1 });
const finished = (status: EndStatus): Entry => ({ kind: "finished", status });
const recalled: Entry = { kind: "recalled", by: "parent" };

function broken(names: string, ...rows: (readonly Entry[])[]): string[] {
  return checkJournal(
    shapeOf(names),
    rows.map((entries, index) => ({ number: index + 1, at: 10_000, entries, nonce: "" })),
  ).map(({ rule }) => rule);
}

const rules = {
  order: "1.1 a step moves forward only when it was made next, in the order of the list",
  skipped: "1.1 a step that is skipped is neither done nor undone",
  owner: "1.2 only an owner writes what an owner does",
  totals: "1.3 the totals of a failed attempt follow from the entries before it",
  together: "1.3 what follows from an entry without anything being done is in its row",
  turn: "1.3 what is decided about an element, or waited for, is so once, in its turn, and never for a saga that turns back",
  instant: "1.3 a timer fires once its instant has come, and a wait times out no sooner than at its own",
  timeout: "1.3 a wait times out only while no signal is in its line: the journal's order decides",
  line: "1.3 signals are consumed or turned away first in, first out, each once, and never one that did not come",
  child: "1.3 a parent goes on, or fails, as its child ended",
  word: "1.4 the end's word is what the journal says",
  once: "1.8 a saga turns back once, and never with its pivot entered unless that definitely failed",
  undo: "1.8 only what did or may have happened is compensated, once, last step first, after the turn",
  recall: "1.8 only a run that completed is recalled, and it turns back with that",
  sender: "2.2 a signal is received once for its key, and not by a run that turns back",
  budget: "1.6 no budget is exceeded",
} as const;

describe("what waits", () => {
  test("begins in its turn, once, and as what it is", () => {
    expect(broken("c1 z c2", [taken], [started()])).toEqual([rules.turn]);
    expect(broken("z c1", [taken], [started()], [started()])).toEqual([rules.turn]);
    expect(broken("z c1", [taken], [fired])).toEqual([rules.turn]);
    expect(broken("w c1", [taken], [awaits()], [awaits()])).toEqual([rules.turn]);
    expect(broken("w c1", [taken], [timedOut])).toEqual([rules.turn]);
    expect(broken("w c1", [taken], [sent()], [got(2)])).toEqual([rules.turn]);
    expect(broken("w c1", [taken], [sent()], [rejected(2)])).toEqual([rules.turn]);
    expect(broken("w c1", [taken], [started(0, "w")])).toEqual([rules.turn]);
    expect(broken("zi c1", [taken], [started(0, "zi")])).toEqual([rules.turn]);
    expect(broken("zi c1", [taken], [decided("zi", true)], [started(0, "zi")])).toEqual([]);
    expect(broken("c1 c2", [taken], [decided("c1", true)])).toEqual([rules.turn]);
    expect(broken("c1i c2", [taken], [decided("c1i", true)], [decided("c1i", true)])).toEqual([rules.turn]);
  });

  test("is an owner's to write, and nobody's once the saga turns back", () => {
    expect(broken("z c1", [started()])).toEqual([rules.owner]);
    expect(broken("z c1", [taken], [asked], [started()])).toEqual([rules.turn]);
    expect(broken("c1 k", [taken], [done("c1")], [asked], [turned("cancel")], [child])).toEqual([rules.turn]);
  });

  test("fires, and times out, no sooner than at its instant", () => {
    expect(broken("z c1", [taken], [started(12_000)], [fired])).toEqual([rules.instant]);
    expect(broken("z c1", [taken], [started(10_000)], [fired])).toEqual([]);
    expect(broken("w c1", [taken], [awaits(12_000)], [timedOut])).toEqual([rules.instant]);
    expect(broken("w c1", [taken], [awaits(12_000)], [failed("w"), turned("failure"), finished("failed")])).toEqual([
      rules.instant,
    ]);
  });

  test("does not time out while a signal is in line, unless that one can't be read", () => {
    expect(broken("w c1", [taken], [awaits()], [sent()], [timedOut])).toEqual([rules.timeout]);
    const failing = [failed("w"), turned("failure"), finished("failed")];
    expect(broken("w c1", [taken], [awaits()], [sent()], failing)).toEqual([rules.timeout]);
    const again: Entry = { kind: "taken_up", worker: "w", token: "b", from: "a", crash: true };
    const third: Entry = { ...again, token: "c", from: "b" };
    expect(broken("w c1", [taken], [awaits()], [sent()], [again], [third], failing)).toEqual([]);
    expect(
      broken(
        "z c1",
        [taken],
        [started()],
        failing.map((entry) => ("step" in entry ? failed("z") : entry)),
      ),
    ).toEqual([]);
  });
});

describe("signals", () => {
  test("are consumed in the order in which they came, each once", () => {
    expect(broken("w c1", [taken], [awaits()], [sent()], [sent()], [got(4)])).toEqual([rules.line]);
    expect(broken("w c1", [taken], [awaits()], [got(9)])).toEqual([rules.line]);
    expect(broken("w c1", [taken], [awaits()], [sent()], [rejected(3)], [got(3)])).toEqual([rules.line]);
    expect(broken("w:1|w:2", [taken], [awaits(0, "w:1"), awaits(0, "w:2")], [sent()])).toEqual([rules.sender].slice(1));
    expect(broken("w c1", [taken], [awaits()], [sent()], [rejected(3)], [sent()], [got(5)])).toEqual([]);
  });

  test("are received once for a key, and not by what turns back", () => {
    expect(broken("w c1", [taken], [sent("k")], [sent("k")])).toEqual([rules.sender]);
    expect(broken("w c1", [taken], [sent("k")], [sent("l")], [sent()], [sent()])).toEqual([]);
    expect(broken("w c1", [taken], [asked], [sent()])).toEqual([rules.sender]);
    expect(broken("c1 c2", [taken], [done("c1")], [failed("c2"), turned("failure")], [sent()])).toEqual([rules.sender]);
  });
});

describe("lists", () => {
  test("are recorded once, and only their items are done", () => {
    expect(broken("e c1", [taken], [listed(2)], [listed(3)])).toEqual([rules.turn]);
    expect(broken("e c1", [taken], [listed(1)], [done("e")])).toEqual([rules.order]);
    expect(broken("e c1", [taken], [listed(1)], [done("c1")])).toEqual([rules.order]);
    expect(broken("e", [taken], [listed(0)])).toEqual([rules.together]);
  });

  test("have as many items under way as they may, and no more", () => {
    expect(broken("e c1", [taken], [listed(3, 2)], [done("e/2")])).toEqual([rules.order]);
    expect(
      broken(
        "e c1",
        [taken],
        [listed(3, 2)],
        [done("e/1")],
        [done("e/2")],
        [done("e/0")],
        [done("c1"), finished("completed")],
      ),
    ).toEqual([]);
  });

  test("are undone in reverse", () => {
    const rows = [[taken], [listed(2)], [done("e/0")], [done("e/1")], [failed("c1"), turned("failure")]];
    expect(broken("e c1", ...rows, [undone("e/0")])).toEqual([rules.undo]);
    expect(broken("e c1", ...rows, [undone("e/1")], [undone("e/0"), finished("failed")])).toEqual([]);
  });

  test("have the budget of their items", () => {
    const once: StoryOptions = {
      policies: { "e/": { retry: { maxAttempts: 1, firstDelayMs: 0, maxDelayMs: 0, factor: 1 } } },
    };
    const { shape, policies } = new Story("e c1", once);
    const rows = [[taken], [listed(2)], [done("e/0", 2)]].map((entries, index) => ({
      number: index + 1,
      at: 0,
      entries,
      nonce: "",
    }));
    expect(checkJournal(shape, rows, { policies }).map(({ rule }) => rule)).toEqual([rules.budget]);
  });
});

describe("steps side by side", () => {
  test("turn the saga back, or end it, when none of them may be under way any more", () => {
    expect(broken("c1|c2", [taken], [failed("c1")])).toEqual([]);
    expect(broken("c1|c2", [taken], [failed("c1")], [tried("c2")])).toEqual([]);
    expect(broken("c1|c2 c3", [taken], [done("c2")], [failed("c1")])).toEqual([rules.together]);
    expect(broken("c1|c2", [taken], [done("c2")], [done("c1")])).toEqual([rules.together]);
    expect(broken("c1|c2 c3", [taken], [done("c3")])).toEqual([rules.order]);
  });

  test("are all counted when their owner is lost", () => {
    const lost: Entry = { kind: "taken_up", worker: "w", token: "b", from: "a", crash: true };
    expect(broken("c1|c2", [taken], [lost], [tried("c2")])).toEqual([
      rules.totals,
      "1.5 doubt stays until a success, reconcile or an operator clears it: a definite error does not",
    ]);
  });
});

describe("a skipped step", () => {
  test("is neither done nor undone", () => {
    const skips = [taken, decided("c1i", false)];
    expect(broken("c1i c2", [taken], [decided("c1i", false)], [done("c1i")])).toEqual([rules.order, rules.skipped]);
    expect(
      broken("c1i c2", skips.slice(0, 1), skips.slice(1), [failed("c2"), turned("failure"), undone("c1i")]),
    ).toEqual([rules.undo, rules.skipped, rules.together]);
  });
});

describe("children", () => {
  test("are begun once, and their parent goes on as they ended", () => {
    expect(broken("k c1", [taken], [child], [child])).toEqual([rules.turn]);
    expect(broken("k c1", [taken], [childEnded("completed")])).toEqual([rules.turn]);
    expect(broken("k c1", [taken], [child], [done("c1")])).toEqual([rules.order]);
    expect(broken("c1 k", [taken], [done("c1")], [child], [failed("k"), turned("failure")])).toEqual([rules.child]);
    expect(broken("k", [taken], [child], [childEnded("completed")])).toEqual([rules.together]);
  });

  test("are undone before their parent ends clean", () => {
    const rows = [[taken], [child], [asked], [turned("cancel"), finished("cancelled")]];
    expect(broken("k", ...rows)).toEqual([rules.word]);
    expect(broken("k", [taken], [child], [asked], [turned("cancel")], [undone("k"), finished("cancelled")])).toEqual(
      [],
    );
  });

  test("that are taken back had completed, had no pivot, and turn back at once", () => {
    const whole = [[taken], [done("c1"), finished("completed")]];
    expect(broken("c1", ...whole, [recalled, turned("cancel")])).toEqual([]);
    expect(broken("c1", ...whole, [recalled])).toEqual([rules.recall]);
    expect(broken("c1 c2", [taken], [done("c1")], [recalled, turned("cancel")])).toEqual([rules.recall]);
    const entered: Entry = { kind: "pivot_entered", step: "P" };
    expect(broken("P", [taken], [entered], [done("P"), finished("completed")], [recalled, turned("cancel")])).toContain(
      rules.once,
    );
    expect(
      broken("c1", [taken], [failed("c1"), turned("failure"), finished("failed")], [recalled, turned("cancel")]),
    ).toEqual([rules.recall, rules.once, rules.together]);
  });
});
