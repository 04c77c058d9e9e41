// ONE ATTEMPT OF A TRANSACTIONAL STEP: its SQL and its entry commit together, or neither does (design 1.10). The number is
// taken last, with the commit; where it is lost, what is right is decided again inside the same transaction.

import type { RunBody } from "../core/action.js";
import { foldRows } from "../core/fold.js";
import { record, type Threw } from "../core/record.js";
import type { StepDefinition, Transaction } from "../definition/saga.js";
import type { Offer } from "../journal/journal.js";
import type { Driving, OwnedRun, TakenRun } from "./owned-run.js";
import { type PerformedOutcome, threwOutcome } from "./perform.js";
import type { OpenTransaction } from "./transactions.js";

/** What the loop lends: the run in its hand, and how it performs an action. */
export interface TransactionalAttempt {
  readonly driving: Driving;
  readonly run: TakenRun;
  readonly owned: OwnedRun;
  readonly step: StepDefinition;
  readonly action: RunBody;
  readonly perform: (tx: Transaction) => Promise<PerformedOutcome>;
  /** False once the worker stops, has lost the run, or others wrote to it. */
  readonly mayBegin: () => boolean;
  /** What came of it is in the journal: called before anybody else's turn to append. */
  readonly over: () => void;
}

export async function attemptInTransaction(attempt: TransactionalAttempt): Promise<void> {
  const { driving, run, owned, step, action } = attempt;
  const open = await driving.transactions!.begin({ idleMs: step.timeoutMs + step.graceMs });
  // Getting a connection may have taken a while.
  if (!attempt.mayBegin()) return open.rollback();
  const performed = await attempt.perform(open.tx);
  const threw = await failed(attempt, open, performed);
  if (threw === undefined) return;
  // The library's own trouble with the database is never an attempt of a step.
  if (open.broken) {
    const fields = { runId: run.header.runId, step: step.name };
    driving.logger.warn(fields, "the database went away in a transactional step; its transaction is void");
    return owned.read();
  }
  // Its transaction was undone, so it did not happen, whatever its error says.
  await owned.offer(
    (state) => record(run.saga.shape, state, action, { ...threw, happened: "no" }, owned.context(step.name)),
    undefined,
    attempt.over,
  );
}

/** Why the attempt failed, its transaction undone; undefined: it was committed, or is void. */
async function failed(
  attempt: TransactionalAttempt,
  open: OpenTransaction,
  performed: PerformedOutcome,
): Promise<Threw | undefined> {
  const { outcome, abandoned } = performed;
  if (outcome.kind !== "threw") return attempt.owned.inTurn(() => commit(attempt, open, performed));
  if (abandoned !== undefined) open.abandon();
  else await open.rollback();
  return outcome;
}

async function commit(
  attempt: TransactionalAttempt,
  open: OpenTransaction,
  { outcome, runOutput }: PerformedOutcome,
): Promise<Threw | undefined> {
  const { driving, run, owned, step, action } = attempt;
  const { shape } = run.saga;
  let { state } = owned;
  const offer = (): Offer | undefined => {
    if (state.owner?.token !== run.token) return undefined;
    const entries = record(shape, state, action, outcome, owned.context(step.name));
    return entries && owned.offerOf(state, entries, runOutput);
  };
  try {
    const first = offer();
    if (first === undefined) return void (await open.rollback());
    const end = await open.commit(first, (rows) => {
      state = foldRows(shape, state, rows);
      return offer();
    });
    if (end.kind === "undone") return void (await owned.read());
    owned.adopt(end.kind === "committed" ? foldRows(shape, state, [end.row]) : state);
    attempt.over();
    return undefined;
  } catch (error) {
    // What the database says at the end (a deferred constraint, a deadlock) is the step's own failure.
    return threwOutcome({ error }, step, driving.performTools);
  }
}
