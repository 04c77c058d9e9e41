// WHAT MUST HOLD OF A FUNCTION'S JOURNAL: it has no list to be held against, but what it declared. From raw rows, never
// through `state`, as all rules are (design 2.3).

import type { StepShape } from "../definition/shape.js";
import type { Entry, Row } from "./entry.js";

interface Facts {
  readonly driver?: string;
  readonly units: ReadonlyMap<string, StepShape>;
  /** In the order of completion. */
  readonly done: readonly string[];
  readonly doubtful: ReadonlySet<string>;
  readonly undone: ReadonlySet<string>;
  readonly undoFailed: ReadonlySet<string>;
  readonly pivot?: "entered" | "not_done";
  readonly turned: boolean;
  readonly finished: boolean;
}

interface Rule {
  readonly rule: string;
  readonly broken: (entry: Entry, facts: Facts) => string | undefined;
}

const rules: readonly Rule[] = [
  {
    rule: "2.3 what an entry is about was declared before",
    broken: (entry, { units }) => {
      const step = stepOf(entry);
      return step === undefined || units.has(step) ? undefined : `${entry.kind} of "${step}", which was not declared`;
    },
  },
  {
    rule: "1.2 only an owner writes what an owner does",
    broken: (entry, { driver }) =>
      ownersKinds.has(entry.kind) && driver === undefined ? `${entry.kind} while nobody drives the run` : undefined,
  },
  {
    rule: "1.3 a taking up names the owner that it takes the run from, and only that one",
    broken: (entry, { driver }) =>
      entry.kind === "taken_up" && entry.from !== driver
        ? `taken from ${entry.from ?? "nobody"}, driven by ${driver ?? "nobody"}`
        : undefined,
  },
  {
    rule: "1.2 a step's outcome is recorded at most once",
    broken: (entry, { done }) => {
      const step = completedBy(entry);
      return step !== undefined && done.includes(step) ? `"${step}" was completed before` : undefined;
    },
  },
  {
    rule: "1.10 the pivot is entered before it is done, and once",
    broken: (entry, { units, pivot }) => {
      const step = completedBy(entry);
      if (entry.kind === "pivot_entered" && pivot !== undefined) return "it was entered before";
      const isPivot = step !== undefined && units.get(step)?.kind === "pivot";
      return isPivot && pivot !== "entered" ? `"${step}" is done and was not entered` : undefined;
    },
  },
  {
    rule: "1.10 nothing turns back after the pivot was entered, unless it is known not to have happened",
    broken: (entry, { pivot }) =>
      entry.kind === "rollback_started" && pivot === "entered" ? "the pivot was entered" : undefined,
  },
  {
    rule: "1.8 undone is what may have happened, and then what is done in reverse order of completion",
    broken: (entry, facts) => {
      if (entry.kind !== "step_compensated" && entry.kind !== "compensation_failed") return undefined;
      const [next] = owed(facts).filter((name) => !facts.undoFailed.has(name));
      if (!facts.turned) return "the run has not turned back";
      return facts.done.includes(entry.step) && next !== entry.step ? `"${next}" is to be undone first` : undefined;
    },
  },
  {
    rule: "1.4 a clean word never covers an unclean state",
    broken: (entry, facts) => {
      if (entry.kind !== "finished") return undefined;
      if (entry.status === "completed") return facts.turned ? "completed, and it turned back" : undefined;
      if (entry.status === "forward_incomplete" || entry.status === "in_doubt")
        return facts.pivot === "entered" ? undefined : `${entry.status} before the pivot`;
      const left = owed(facts);
      if (entry.status !== "compensation_failed")
        return left.length > 0 ? `${entry.status}, and "${left[0]}" is not undone` : undefined;
      return facts.undoFailed.size > 0 ? undefined : "compensation_failed, and no compensation failed";
    },
  },
  {
    rule: "1.4 after the end only people write",
    broken: (entry, { finished }) =>
      finished && !reopening.has(entry.kind) ? `${entry.kind} after the end` : undefined,
  },
];

/** What breaks a rule in these rows: all of one run, oldest first, none left out. */
export function checkFunctionJournal(rows: readonly Row[]): { rule: string; number: number; what: string }[] {
  let facts: Facts = {
    units: new Map(),
    done: [],
    doubtful: new Set(),
    undone: new Set(),
    undoFailed: new Set(),
    turned: false,
    finished: false,
  };
  return rows.flatMap(({ number, entries }) =>
    entries.flatMap((entry) => {
      const broken = rules.flatMap(({ rule, broken }) => {
        const what = broken(entry, facts);
        return what === undefined ? [] : [{ rule, number, what }];
      });
      facts = read(facts, entry);
      return broken;
    }),
  );
}

function read(facts: Facts, entry: Entry): Facts {
  const step = completedBy(entry);
  if (step !== undefined && !facts.done.includes(step)) {
    // An operator's word also has an ended run go on.
    const finished = facts.finished && entry.kind !== "resolved";
    return { ...settled(facts, step), done: [...facts.done, step], finished };
  }
  switch (entry.kind) {
    case "taken_up":
      return { ...facts, driver: entry.token };
    case "handed_over":
    case "parked":
      return undriven(facts);
    case "finished":
      return { ...undriven(facts), finished: true };
    case "declared":
      return { ...facts, units: new Map([...facts.units, ...entry.units.map((unit) => [unit.name, unit] as const)]) };
    case "attempt_failed":
      return entry.direction === "forward" && entry.doubt ? doubted(facts, entry.step) : facts;
    case "step_failed": {
      const known = entry.doubt === "in_doubt" ? doubted(facts, entry.step) : settled(facts, entry.step);
      const isPivot = facts.units.get(entry.step)?.kind === "pivot" && entry.doubt === "definite";
      return isPivot ? { ...known, pivot: "not_done" } : known;
    }
    case "reconciled":
      return entry.answer === "not_happened" ? settled(facts, entry.step) : facts;
    case "child_started":
      return doubted(facts, entry.step);
    case "pivot_entered":
      return { ...facts, pivot: "entered" };
    case "recalled":
      return { ...facts, finished: false };
    case "rollback_started":
      return { ...facts, turned: true };
    case "step_compensated":
      return undone(facts, entry.step);
    case "compensation_failed":
      return { ...facts, undoFailed: new Set([...facts.undoFailed, entry.step]) };
    case "retried":
      return { ...facts, finished: false, undoFailed: new Set() };
    case "resolved": {
      const reopened = { ...facts, finished: false };
      if (entry.as === "undone") return undone(reopened, entry.step);
      return entry.as === "not_done" ? { ...settled(reopened, entry.step), pivot: "not_done" } : reopened;
    }
    default:
      return facts;
  }
}

const ownersKinds: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>([
  ...(["handed_over", "parked", "declared", "function_failed", "pivot_entered"] as const),
  ...(["step_completed", "attempt_failed", "reconciled", "step_failed"] as const),
  ...(["step_compensated", "compensation_failed", "timer_started", "timer_fired"] as const),
  ...(["signal_awaited", "signal_consumed", "signal_rejected", "signal_timed_out"] as const),
  ...(["child_started", "child_finished"] as const),
]);

const reopening: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>(["resolved", "retried", "recalled"]);

function stepOf(entry: Entry): string | undefined {
  return "step" in entry ? entry.step : undefined;
}

function completedBy(entry: Entry): string | undefined {
  switch (entry.kind) {
    case "step_completed":
    case "timer_fired":
    case "signal_consumed":
    case "signal_timed_out":
      return entry.step;
    case "child_finished":
      return entry.status === "completed" ? entry.step : undefined;
    case "resolved":
      return entry.as === "done" ? entry.step : undefined;
    default:
      return undefined;
  }
}

/** What did or may have happened, can be undone and is not: in the order in which it is to be. */
function owed({ units, done, doubtful, undone }: Facts): readonly string[] {
  const open = (name: string) => units.get(name)?.undone === true && !undone.has(name);
  return [...[...doubtful].filter((name) => !done.includes(name)), ...done.toReversed()].filter(open);
}

function undone(facts: Facts, step: string): Facts {
  const undoFailed = new Set([...facts.undoFailed].filter((name) => name !== step));
  return { ...facts, undoFailed, undone: new Set([...facts.undone, step]) };
}

function doubted(facts: Facts, step: string): Facts {
  return { ...facts, doubtful: new Set([...facts.doubtful, step]) };
}

function settled(facts: Facts, step: string): Facts {
  return { ...facts, doubtful: new Set([...facts.doubtful].filter((name) => name !== step)) };
}

function undriven({ driver: _driver, ...facts }: Facts): Facts {
  return facts;
}
