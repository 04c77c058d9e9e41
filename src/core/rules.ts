// WHAT MUST HOLD OF ANY JOURNAL, whoever wrote it: read from raw rows and never through `state`. Asserted in tests, in
// simulation and by `doctor`. The rules themselves are in `rule-table`.

import type { Shape } from "../definition/shape.js";
import type { Row } from "./entry.js";
import { type JournalFacts, noFacts } from "./journal-facts.js";
import { readEntry } from "./read-entry.js";
import type { RuleOptions } from "./rule.js";
import { entryRules } from "./rule-table.js";
import { checkFunctionJournal } from "./rules-of-functions.js";
import { rowRules } from "./rules-of-rows.js";

/** A rule that does not hold. */
export interface Violation {
  /** The rule, as the sentence that should hold. */
  readonly rule: string;
  /** The number of the row that breaks it. */
  readonly number: number;
  /** What is wrong with that row. */
  readonly what: string;
}

/** What breaks a rule in these rows: all of one run, oldest first, none left out. Empty when all is well. */
export function checkJournal(shape: Shape, rows: readonly Row[], options: RuleOptions = {}): Violation[] {
  if (shape.function === true) return checkFunctionJournal(rows);
  let facts = noFacts(shape);
  return rows.flatMap((row) => {
    const checked = checkRow(shape, facts, row, options);
    facts = checked.facts;
    return checked.violations;
  });
}

/** Judges one more row, given what the rows before it say; gives what they say with it. */
export function checkRow(
  shape: Shape,
  facts: JournalFacts,
  row: Row,
  options: RuleOptions = {},
): { readonly facts: JournalFacts; readonly violations: Violation[] } {
  const violations: Violation[] = [];
  const note = (rule: string, what: string | undefined): void => {
    if (what !== undefined) violations.push({ rule, number: row.number, what });
  };
  let read = facts;
  for (const [index, entry] of row.entries.entries()) {
    if ("step" in entry && read.steps[entry.step] === undefined) {
      note("1.1 every entry is about a step of the saga", `${entry.kind} of "${entry.step}", which it does not have`);
      continue;
    }
    const earlier = row.entries.slice(0, index);
    const place = { shape, facts: read, row, entry, before: earlier, options };
    for (const { rule, broken } of entryRules) note(rule, broken(place));
    read = readEntry(shape, read, entry, { number: row.number, before: facts, earlier });
  }
  for (const { rule, broken } of rowRules) note(rule, broken({ shape, before: facts, facts: read, row }));
  return { facts: { ...read, last: row.number }, violations };
}
