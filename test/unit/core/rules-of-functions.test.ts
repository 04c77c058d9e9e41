// What must hold of a function's journal: each rule on a journal that keeps it and on ones that break it (design 2.3).

import { describe, expect, test } from "vitest";
import type { Entry, Row } from "../../../src/core/entry.js";
import { checkJournal } from "../../../src/core/rules.js";
import type { StepShape } from "../../../src/definition/shape.js";

const value = { format: "text", text: "" };
const error = { name: "Error", message: "no" };

const unit = (name: string, more: Partial<StepShape> = {}): StepShape => ({
  name,
  kind: "compensatable",
  undone: true,
  transactional: false,
  ...more,
});
const a = unit("a");
const b = unit("b");
const p = unit("p", { kind: "pivot", undone: false });
const kid = unit("kid", { element: "child" });

const taken: Entry = { kind: "taken_up", worker: "w", token: "t", crash: false };
const takenOver: Entry = { kind: "taken_up", worker: "w2", token: "t2", from: "t", crash: true };
const declared = (...units: StepShape[]): Entry => ({ kind: "declared", units });
const done = (step: string): Entry => ({ kind: "step_completed", step, output: value, attempt: 1 });
const failed = (step: string, doubt: "definite" | "in_doubt"): Entry => ({
  kind: "step_failed",
  step,
  attempts: 1,
  error,
  doubt,
});
const undone = (step: string): Entry => ({ kind: "step_compensated", step, attempt: 1 });
const stuck = (step: string): Entry => ({ kind: "compensation_failed", step, attempts: 1, error });
const turned: Entry = { kind: "rollback_started", cause: "failure" };
const entered: Entry = { kind: "pivot_entered", step: "p" };
const asked: Entry = { kind: "cancel_requested", by: "ana" };
const refused: Entry = { kind: "cancel_refused", by: "ana", pivot: "p" };
const threw: Entry = { kind: "function_failed", error };
const ends = (status: Extract<Entry, { kind: "finished" }>["status"]): Entry => ({ kind: "finished", status });
const retried: Entry = { kind: "retried", by: "ana" };

/** What is broken, one row an entry. */
function broken(...entries: Entry[]): string[] {
  const rows = entries.map((entry, index): Row => ({ number: index + 1, at: 0, entries: [entry], nonce: "" }));
  return checkJournal({ steps: [], function: true }, rows).map(({ number, what }) => `${number}: ${what}`);
}

describe("a journal of a function", () => {
  test.each<[string, Entry[]]>([
    ["that completes", [taken, declared(a, b), done("b"), done("a"), ends("completed")]],
    [
      "that is undone in reverse of completion",
      [taken, declared(a, b), done("b"), done("a"), threw, turned, undone("a"), undone("b"), ends("failed")],
    ],
    [
      "whose doubtful call is undone first",
      [
        taken,
        declared(a, b),
        done("a"),
        takenOver,
        failed("b", "in_doubt"),
        turned,
        undone("b"),
        undone("a"),
        ends("failed"),
      ],
    ],
    [
      "that was asked to stop",
      [
        taken,
        declared(a),
        done("a"),
        asked,
        { kind: "rollback_started", cause: "cancel" },
        undone("a"),
        ends("cancelled"),
      ],
    ],
    ["that nobody drove when it was asked to stop", [asked, ends("cancelled")]],
    [
      "past its pivot",
      [
        taken,
        declared(p),
        entered,
        done("p"),
        refused,
        declared(b),
        threw,
        ends("forward_incomplete"),
        retried,
        done("b"),
        ends("completed"),
      ],
    ],
    [
      "whose pivot did not happen",
      [
        taken,
        declared(a),
        done("a"),
        declared(p),
        entered,
        failed("p", "definite"),
        turned,
        undone("a"),
        ends("failed"),
      ],
    ],
    [
      "that owes something until an operator has it tried again",
      [
        taken,
        declared(a),
        done("a"),
        threw,
        turned,
        stuck("a"),
        ends("compensation_failed"),
        retried,
        undone("a"),
        ends("failed"),
      ],
    ],
    [
      "that owes something until an operator settles it",
      [
        taken,
        declared(a),
        done("a"),
        threw,
        turned,
        stuck("a"),
        ends("compensation_failed"),
        { kind: "resolved", step: "a", as: "undone", by: "ana" },
        ends("failed"),
      ],
    ],
    [
      "whose child is undone",
      [
        taken,
        declared(kid),
        { kind: "child_started", step: "kid", runId: "c", input: value },
        { kind: "child_finished", step: "kid", status: "completed", output: value },
        threw,
        turned,
        undone("kid"),
        ends("failed"),
      ],
    ],
    [
      "whose child failed",
      [
        taken,
        declared(kid),
        { kind: "child_started", step: "kid", runId: "c", input: value },
        { kind: "child_finished", step: "kid", status: "failed" },
        failed("kid", "definite"),
        turned,
        undone("kid"),
        ends("failed"),
      ],
    ],
    [
      "that its parent took back",
      [
        taken,
        declared(a),
        done("a"),
        ends("completed"),
        { kind: "recalled", by: "run p" },
        { kind: "rollback_started", cause: "cancel" },
        undone("a"),
        ends("cancelled"),
      ],
    ],
    [
      "whose pivot an operator settled",
      [
        taken,
        declared(p),
        entered,
        failed("p", "in_doubt"),
        ends("in_doubt"),
        { kind: "resolved", step: "p", as: "done", output: value, by: "ana" },
        ends("completed"),
      ],
    ],
    [
      "whose pivot an operator said did not happen",
      [
        taken,
        declared(p),
        entered,
        failed("p", "in_doubt"),
        ends("in_doubt"),
        { kind: "resolved", step: "p", as: "not_done", by: "ana" },
        turned,
        ends("failed"),
      ],
    ],
    [
      "handed over, asked about, and cleared",
      [
        taken,
        declared(a),
        { kind: "handed_over", worker: "w" },
        taken,
        { kind: "reconciled", step: "a", answer: "not_happened", asks: 1, askAt: 0 },
        threw,
        turned,
        ends("failed"),
      ],
    ],
  ])("%s keeps the rules", (_, entries) => {
    expect(broken(...entries)).toEqual([]);
  });

  test.each<[string, Entry[], string]>([
    ["a call that was never declared", [taken, done("a")], '2: step_completed of "a"'],
    ["an outcome recorded twice", [taken, declared(a), done("a"), done("a")], '4: "a" had completed'],
    [
      "undone twice",
      [taken, declared(a), done("a"), threw, turned, undone("a"), undone("a")],
      '7: "a" was undone already',
    ],
    [
      "something begun after an ask",
      [taken, declared(kid), asked, { kind: "child_started", step: "kid", runId: "c", input: value }],
      "4: child_started",
    ],
    ["undone before the turn", [taken, declared(a), done("a"), undone("a")], "4: step_compensated before the turn"],
    [
      "undone in order of completion",
      [taken, declared(a, b), done("a"), done("b"), threw, turned, undone("a")],
      '7: "a", where it is b',
    ],
    ["undone though nothing happened", [taken, declared(a), threw, turned, undone("a")], '5: "a", where it is nothing'],
    ["turned twice", [taken, threw, turned, turned], "4: it had turned back already"],
    [
      "turned with its pivot entered",
      [taken, declared(p), entered, turned],
      "4: the pivot was entered, and did not definitely fail",
    ],
    ["a pivot entered twice", [taken, declared(p), entered, entered], "4: it had been entered"],
    ["a pivot that was not entered", [taken, declared(p), done("p")], "3: step_completed before it was entered"],
    ["an ask accepted past the pivot", [taken, declared(p), entered, asked], "4: accepted after the pivot was entered"],
    ["an ask refused before the pivot", [taken, declared(a), refused], "3: refused without a pivot"],
    ["completed after an ask", [taken, asked, ends("completed")], "3: completed, though it was asked to stop"],
    [
      "a clean word that owes something",
      [taken, declared(a), done("a"), threw, turned, ends("failed")],
      "6: failed, where it is compensation_failed",
    ],
    [
      "cancelled at once, owing something",
      [taken, declared(a), done("a"), asked, ends("cancelled")],
      "5: cancelled, and owes a",
    ],
    [
      "incomplete before its pivot",
      [taken, ends("forward_incomplete")],
      "2: forward_incomplete before the pivot, without a rollback",
    ],
    ["something after its end", [taken, ends("completed"), done("a")], '3: step_completed of "a"'],
    ["a consistent end retried", [taken, ends("completed"), retried], "3: retried after completed"],
    [
      "an end that was no success taken back",
      [asked, ends("cancelled"), { kind: "recalled", by: "p" }],
      "3: recalled after cancelled",
    ],
  ])("with %s breaks one", (_, entries, what) => {
    expect(broken(...entries)).toContain(what);
  });

  test("without a number breaks one", () => {
    const rows: Row[] = [{ number: 2, at: 0, entries: [taken], nonce: "" }];
    expect(checkJournal({ steps: [], function: true }, rows)).toMatchObject([{ number: 2, what: "2 after 0" }]);
  });
});
