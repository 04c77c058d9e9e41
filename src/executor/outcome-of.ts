// HOW AN END IS TOLD to a caller: the outcome with its error as a real Error, its values decoded (design 2.2, 4.5).

import type { StoredValue } from "../core/entry.js";
import type { EndOfRun } from "../core/outcome.js";
import { reviveError } from "../errors/error-record.js";
import {
  CompensationFailedError,
  ForwardIncompleteError,
  type OutcomeDetails,
  RunInDoubtError,
  SagaCancelledError,
  SagaFailedError,
  SagaTimedOutError,
} from "../errors/outcome-errors.js";
import type { RunHeader } from "../journal/journal.js";
import type { RunOutcome } from "./executor.js";

export function outcomeOf(
  header: RunHeader,
  end: EndOfRun,
  decode: (stored: StoredValue) => unknown,
): RunOutcome<unknown> {
  const details: OutcomeDetails = {
    runId: header.runId,
    saga: header.saga,
    owed: end.owed,
    compensationErrors: end.compensationErrors.map(({ step, error }) => ({ step, error: reviveError(error) })),
    ...(end.failure?.step === undefined ? {} : { step: end.failure.step }),
    ...(end.failure === undefined ? {} : { cause: reviveError(end.failure.error) }),
  };
  switch (end.status) {
    case "completed":
      return { status: "completed", output: end.output === undefined ? undefined : decode(end.output) };
    case "failed":
      return { status: "failed", error: new SagaFailedError(details) };
    case "cancelled": {
      const { by, reason } = end.cancelledBy ?? {};
      const asked = { ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) };
      return { status: "cancelled", error: new SagaCancelledError({ ...details, ...asked }) };
    }
    case "timed_out":
      return { status: "timed_out", error: new SagaTimedOutError(details) };
    case "compensation_failed":
      return { status: "compensation_failed", error: new CompensationFailedError(details) };
    case "forward_incomplete":
      return { status: "forward_incomplete", error: new ForwardIncompleteError(details) };
    case "in_doubt":
      return { status: "in_doubt", error: new RunInDoubtError(details) };
  }
}
