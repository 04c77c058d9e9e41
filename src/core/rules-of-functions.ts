// WHAT MUST HOLD OF A FUNCTION'S JOURNAL: read from raw rows with a bookkeeping of its own, never through `state`. A function has
// no list: what it may do is told by what it declared (design 2.3; the sections are 1-semantics').

import type { StepShape } from "../definition/shape.js";
import type { Cause, EndStatus, Entry, Row } from "./entry.js";

interface Call {
  readonly shape: StepShape;
  readonly completed?: true;
  readonly child?: true;
  readonly doubt: boolean;
  readonly failed?: "definite" | "in_doubt";
  readonly compensated?: true;
  readonly stuck?: true;
}

interface Facts {
  readonly last: number;
  readonly driver?: string;
  readonly calls: ReadonlyMap<string, Call>;
  /** The names of what was completed, in that order. */
  readonly order: readonly string[];
  /** A body may have begun for an owner that is gone, or may be running: whatever was open then. */
  readonly pivotEntered: boolean;
  readonly asked: boolean;
  readonly turned?: Cause;
  readonly finished?: EndStatus;
}

export const noFunctionFacts: Facts = { last: 0, calls: new Map(), order: [], pivotEntered: false, asked: false };

interface FunctionRule {
  readonly rule: string;
  readonly broken: (facts: Facts, entry: Entry) => string | undefined;
}

const consistent: ReadonlySet<EndStatus> = new Set<EndStatus>(["completed", "failed", "cancelled", "timed_out"]);
const wordOf = { failure: "failed", cancel: "cancelled", deadline: "timed_out" } as const;

/** Whose outcome is told. */
function called(facts: Facts, entry: Entry): Call | undefined {
  return "step" in entry && entry.step !== undefined ? facts.calls.get(entry.step) : undefined;
}

/** What is to be undone next: what may have happened first, then what was completed, last one first (1.8). */
function owed(facts: Facts): readonly string[] {
  const open = ({ shape, compensated, completed, child, doubt }: Call): boolean =>
    shape.undone && compensated === undefined && (completed === true || child === true || doubt);
  const done = facts.order.filter((name) => open(facts.calls.get(name)!));
  const doubted = [...facts.calls].filter(([name, call]) => open(call) && !done.includes(name)).map(([name]) => name);
  return [...doubted, ...done.reverse()];
}

function pivotFailed({ calls }: Facts): boolean {
  return [...calls.values()].some(({ shape, failed }) => shape.kind === "pivot" && failed === "definite");
}

const forward: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>([
  "timer_started",
  "signal_awaited",
  "child_started",
]);

export const functionRules: readonly FunctionRule[] = [
  {
    rule: "2.3 what happens to a call was declared before",
    broken: (facts, entry) => {
      if (!("step" in entry) || entry.step === undefined || entry.kind === "function_failed") return undefined;
      return facts.calls.has(entry.step) ? undefined : `${entry.kind} of "${entry.step}"`;
    },
  },
  {
    rule: "1.10 the outcome of a call is recorded at most once",
    broken: (facts, entry) => {
      const call = called(facts, entry);
      if (entry.kind === "step_completed" && call?.completed) return `"${entry.step}" had completed`;
      return entry.kind === "step_compensated" && call?.compensated ? `"${entry.step}" was undone already` : undefined;
    },
  },
  {
    rule: "1.3 nothing forward is begun once the run was asked to stop, or has turned back",
    broken: ({ asked, turned }, entry) =>
      (asked || turned !== undefined) && (forward.has(entry.kind) || entry.kind === "pivot_entered")
        ? entry.kind
        : undefined,
  },
  {
    rule: "1.8 what is undone did or may have happened; the turn comes first, and the last one done is the first",
    broken: (facts, entry) => {
      if (entry.kind !== "step_compensated" && entry.kind !== "compensation_failed") return undefined;
      if (facts.turned === undefined) return `${entry.kind} before the turn`;
      const open = owed(facts).filter((name) => !facts.calls.get(name)!.stuck);
      const doubted = open.filter((name) => !facts.calls.get(name)!.completed);
      const next = doubted.length > 0 ? doubted : open.slice(0, 1);
      return next.includes(entry.step) ? undefined : `"${entry.step}", where it is ${next.join(" or ") || "nothing"}`;
    },
  },
  {
    rule: "1.8 a run turns back once, and never with its pivot entered unless that definitely failed",
    broken: (facts, entry) => {
      if (entry.kind !== "rollback_started") return undefined;
      if (facts.turned !== undefined) return "it had turned back already";
      return facts.pivotEntered && !pivotFailed(facts)
        ? "the pivot was entered, and did not definitely fail"
        : undefined;
    },
  },
  {
    rule: "1.10 the pivot is entered before anything comes of it, once",
    broken: (facts, entry) => {
      if (entry.kind === "pivot_entered") return facts.pivotEntered ? "it had been entered" : undefined;
      const comes = entry.kind === "step_completed" || entry.kind === "step_failed" || entry.kind === "attempt_failed";
      const ofPivot = called(facts, entry)?.shape.kind === "pivot";
      return comes && ofPivot && !facts.pivotEntered ? `${entry.kind} before it was entered` : undefined;
    },
  },
  {
    rule: "1.7 an ask is accepted before the pivot and refused after it",
    broken: (facts, entry) => {
      const open = facts.turned === undefined && !pivotFailed(facts);
      if (entry.kind === "cancel_requested")
        return open && facts.pivotEntered ? "accepted after the pivot was entered" : undefined;
      return entry.kind === "cancel_refused" && !(open && facts.pivotEntered) ? "refused without a pivot" : undefined;
    },
  },
  {
    rule: "1.4 the end's word is what the journal says, and it is the last one until an operator reopens it",
    broken: (facts, entry) => {
      if (facts.finished !== undefined) {
        if (entry.kind === "recalled")
          return facts.finished === "completed" ? undefined : `recalled after ${facts.finished}`;
        const reopens = entry.kind === "retried" || entry.kind === "resolved";
        return reopens && !consistent.has(facts.finished) ? undefined : `${entry.kind} after ${facts.finished}`;
      }
      if (entry.kind !== "finished") return undefined;
      const owes = owed(facts);
      if (facts.turned === undefined) {
        if (entry.status === "completed") return facts.asked ? "completed, though it was asked to stop" : undefined;
        if (entry.status === "cancelled") return owes.length > 0 ? `cancelled, and owes ${owes[0]}` : undefined;
        return facts.pivotEntered ? undefined : `${entry.status} before the pivot, without a rollback`;
      }
      const word = owes.length > 0 ? "compensation_failed" : wordOf[facts.turned];
      return entry.status === word ? undefined : `${entry.status}, where it is ${word}`;
    },
  },
];

/** The facts once `entry` was read. */
export function readFunctionEntry(facts: Facts, entry: Entry): Facts {
  switch (entry.kind) {
    case "declared": {
      const calls = new Map(facts.calls);
      for (const shape of entry.units) calls.set(shape.name, { doubt: false, ...calls.get(shape.name), shape });
      return { ...facts, calls };
    }
    case "taken_up":
      return { ...(entry.from === undefined ? facts : doubtOpen(facts)), driver: entry.token };
    case "handed_over":
      return doubtOpen(facts);
    case "step_completed":
    case "timer_fired":
    case "signal_consumed":
    case "signal_timed_out":
      return completed(facts, entry.step);
    case "child_started":
      return about(facts, entry.step, { child: true });
    case "child_finished":
      return entry.status === "completed" ? completed(facts, entry.step) : facts;
    case "attempt_failed":
      return entry.direction === "forward" ? about(facts, entry.step, { doubt: entry.doubt }) : facts;
    case "reconciled":
      return entry.answer === "not_happened" ? about(facts, entry.step, { doubt: false }) : facts;
    case "step_failed":
      return about(facts, entry.step, { failed: entry.doubt, doubt: entry.doubt === "in_doubt" });
    case "pivot_entered":
      return { ...facts, pivotEntered: true };
    case "cancel_requested":
      return facts.turned === undefined ? { ...facts, asked: true } : facts;
    case "rollback_started":
      return { ...facts, turned: entry.cause };
    case "step_compensated":
      return about(facts, entry.step, { compensated: true });
    case "compensation_failed":
      return about(facts, entry.step, { stuck: true });
    case "resolved":
      return readResolved(reopened(facts), entry.step, entry.as);
    case "retried":
      return unstuck(reopened(facts));
    case "recalled":
      return { ...reopened(facts), asked: true };
    case "finished":
      return { ...facts, finished: entry.status };
    default:
      return facts;
  }
}

export function afterFunctionRow(facts: Facts, row: Row): Facts {
  return { ...facts, last: row.number };
}

function completed(facts: Facts, name: string): Facts {
  const known = about(facts, name, { completed: true, doubt: false });
  return { ...known, order: [...known.order, name] };
}

function about(facts: Facts, name: string, change: Partial<Call>): Facts {
  const call = facts.calls.get(name);
  return call === undefined ? facts : { ...facts, calls: new Map([...facts.calls, [name, { ...call, ...change }]]) };
}

/** Whatever of it may have been running may have happened. */
function doubtOpen(facts: Facts): Facts {
  if (facts.turned !== undefined) return facts;
  const calls = [...facts.calls].map(([name, call]): [string, Call] => {
    const settled = call.completed || call.failed === "definite" || call.shape.element !== undefined;
    return [name, settled ? call : { ...call, doubt: true }];
  });
  return { ...facts, calls: new Map(calls) };
}

function readResolved(facts: Facts, name: string, as: "done" | "not_done" | "undone"): Facts {
  if (as === "undone") return about(facts, name, { compensated: true });
  if (as === "done") return completed(facts, name);
  return about(facts, name, { failed: "definite", doubt: false });
}

function reopened({ finished: _finished, ...facts }: Facts): Facts {
  return facts;
}

function unstuck(facts: Facts): Facts {
  const calls = [...facts.calls].map(([name, { stuck: _stuck, ...call }]): [string, Call] => [name, call]);
  return { ...facts, calls: new Map(calls) };
}
