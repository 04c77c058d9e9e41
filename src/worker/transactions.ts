// TRANSACTIONAL STEPS on the store: maps the executor's offers to rows and back (design 1.10).

import type { Transactions } from "../executor/transactions.js";
import { newRowOf, type PgJournal, readRow } from "../journal/pg-journal.js";
import type { Database } from "../store/db.js";
import { openStepTransaction } from "../store/transaction.js";

/** Idling a little longer than the attempt may take is the body's right; beyond that the server ends the transaction. */
const spareMs = 1_000;

export function transactionsOn(database: Database, journal: PgJournal): Transactions {
  return {
    async begin({ idleMs }) {
      const open = await openStepTransaction(database, idleMs + spareMs);
      return {
        tx: open.tx,
        get broken() {
          return open.broken;
        },
        rollback: () => open.rollback(),
        abandon: () => open.abandon(),
        async commit(offer, again) {
          const { runId } = offer.header;
          const end = await open.commit(newRowOf(offer), (rows) => {
            const next = again(rows.map((row) => readRow(row, runId)));
            return next && newRowOf(next);
          });
          switch (end.kind) {
            case "committed":
              journal.announceAppended(offer, end.appended);
              return { kind: "committed", row: readRow({ ...end.written, at: end.appended.at }, runId) };
            case "void":
              return { kind: "void" };
            case "undone":
              database.logger.warn(
                { err: end.error, runId },
                "the connection was lost at a transactional step's commit, which did not take place",
              );
              return { kind: "undone" };
          }
        },
      };
    },
  };
}
