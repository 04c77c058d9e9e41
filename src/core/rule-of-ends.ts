// WHICH END, AND WHICH CAUSE OF A TURN, a journal allows (design 1.4, 1.7). From raw facts, never through `state`.

import type { Shape } from "../definition/shape.js";
import type { EndStatus, Entry, Finished, RollbackStarted, Row } from "./entry.js";
import { firstOpen, openNow, owed, stillToUndo } from "./facts-units.js";
import type { JournalFacts } from "./journal-facts.js";
import type { Policies } from "./policies.js";

/** Ends that nobody needs to do anything about. */
export const consistentEnds: ReadonlySet<EndStatus> = new Set<EndStatus>([
  "completed",
  "failed",
  "cancelled",
  "timed_out",
]);
const wordOf = { failure: "failed", cancel: "cancelled", deadline: "timed_out" } as const;

/** 1.4: what is wrong with the word that a run ends with; undefined when it is what the journal says. */
export function contradicted(
  shape: Shape,
  facts: JournalFacts,
  { status }: Finished,
  before: readonly Entry[],
): string | undefined {
  const open = openNow(shape, facts);
  const failed = open.find(({ name }) => facts.steps[name]!.failed !== undefined);
  if (facts.turned !== undefined) {
    if (stillToUndo(shape, facts).length > 0) return `${status}, and "${stillToUndo(shape, facts)[0]}" is not undone`;
    const word = owed(shape, facts).length > 0 ? "compensation_failed" : wordOf[facts.turned];
    return status === word ? undefined : `${status}, where it is ${word}`;
  }
  switch (status) {
    case "completed":
      return open.length === 0 && facts.firstCause !== "cancel"
        ? undefined
        : "not all is done, or it was asked to stop";
    case "cancelled": {
      const asked = before.some(({ kind }) => kind === "cancel_requested") && facts.firstCause === "cancel";
      return asked && facts.driver === undefined && owed(shape, facts).length === 0
        ? undefined
        : "cancelled at once, though it is driven, has something to undo, or nobody asked";
    }
    case "forward_incomplete":
      return failed?.kind === "retriable" ? undefined : "no step after the pivot failed";
    case "in_doubt":
      return failed?.kind === "pivot" && facts.steps[failed.name]!.failed === "in_doubt"
        ? undefined
        : "the pivot did not fail in doubt";
    default:
      return `${status} without a rollback, at step "${open[0]?.name}"`;
  }
}

/** 1.7: what is wrong with the cause of a turn; undefined when it is the first one. */
export function wrongCause(
  shape: Shape,
  facts: JournalFacts,
  { cause }: RollbackStarted,
  row: Row,
  policies: Policies | undefined,
): string | undefined {
  const first = facts.firstCause ?? "deadline";
  if (cause !== first) return `${cause}, where ${first} came first`;
  if (cause !== "deadline") return undefined;
  if (firstOpen(shape, facts) === undefined) return "the last step had returned";
  return policies !== undefined && row.at < policies.deadlineAt ? "the deadline had not passed" : undefined;
}
