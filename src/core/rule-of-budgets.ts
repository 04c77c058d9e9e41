// WHAT A BUDGET ALLOWS: executions and asks, as entries tell them (design 1.5, 1.6). From raw facts, never through `state`.

import type { Entry } from "./entry.js";
import type { JournalFacts } from "./journal-facts.js";
import type { Policies } from "./policies.js";

/** What exceeds its budget; undefined when nothing does, or when the policies are not known. */
export function overspent(entry: Entry, facts: JournalFacts, policies: Policies | undefined): string | undefined {
  if (policies === undefined || !("step" in entry)) return undefined;
  // The items of a list have one policy, under the list's name and a "/".
  const policy = policies.steps[entry.step] ?? policies.steps[entry.step.slice(0, entry.step.lastIndexOf("/") + 1)]!;
  const forward = policy.retry.maxAttempts;
  switch (entry.kind) {
    case "step_completed":
      return over("attempt", entry.attempt, Math.max(1, forward));
    case "step_compensated":
      return over("attempt", entry.attempt, policy.compensationRetry.maxAttempts);
    case "attempt_failed":
      return over(
        "executions",
        entry.attempts,
        entry.direction === "forward" ? forward : policy.compensationRetry.maxAttempts,
      );
    case "step_failed":
      return over("executions", entry.attempts, forward);
    case "compensation_failed":
      return over("executions", entry.attempts, policy.compensationRetry.maxAttempts);
    case "reconciled":
      if (entry.asks <= facts.steps[entry.step]!.asks) return `ask ${entry.asks} again`;
      return over("asks", entry.asks, policy.maxAsks);
    default:
      return undefined;
  }
}

function over(what: string, used: number, budget: number): string | undefined {
  return used > budget ? `${used} ${what}, where ${budget} are allowed` : undefined;
}
