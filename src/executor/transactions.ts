// TRANSACTIONS, as a port: what an attempt of a transactional step works in (design 1.10, 3.2). Only executors on a
// database have them.

import type { Row } from "../core/entry.js";
import type { Transaction } from "../definition/saga.js";
import type { Offer } from "../journal/journal.js";

/** What became of a transaction that was to be committed. */
type TransactionEnd =
  | { readonly kind: "committed"; readonly row: Row }
  /** Its entry had no place any more: everything was undone. */
  | { readonly kind: "void" }
  /** The connection was lost at the commit, which did not take place, and will not any more. */
  | { readonly kind: "undone" };

/** An open transaction of the journal's database, for one attempt of a transactional step. */
export interface OpenTransaction {
  readonly tx: Transaction;
  /**
   * Takes the number last, with the commit. Where it is taken, `again` gets the rows read inside the transaction, and gives
   * what to offer now, or undefined to undo everything. Throws what the database said of the body's work; then all is undone.
   */
  commit(offer: Offer, again: (rows: readonly Row[]) => Offer | undefined): Promise<TransactionEnd>;
  /** Undoes it. */
  rollback(): Promise<void>;
  /** Undoes it although its body may still be using it: its connection is destroyed. */
  abandon(): void;
  /** Whether its connection was lost: then nothing that its body says counts. */
  readonly broken: boolean;
}

export interface Transactions {
  /** `idleMs`: how long it may be idle before the server ends it. */
  begin(options: { readonly idleMs: number }): Promise<OpenTransaction>;
}
