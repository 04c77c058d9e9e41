// A FIRST SAGA: three steps, one of them the pivot. One order goes through; another one fails, and is undone.
// Run it: npx tsx examples/01-first-saga.ts

import { defineSaga, describeSaga, inProcessExecutor, pivot, step, TerminalError } from "rubicon-saga";
import { z } from "zod";

// A step says what it needs as the type of its first parameter. What it returns is there for the steps after it.
const reserveTable = step({
  name: "reserve-table",
  run: async (dinner: { guests: number }) => {
    console.log(`  reserve a table for ${dinner.guests}`);
    return { table: "T7" };
  },
  compensate: async (_dinner, undo) => {
    // Rolling back, a step may be in doubt: then there is no output, and there may be nothing to undo.
    console.log(`  give back ${undo.outcome === "done" ? undo.output.table : "whatever was reserved"}`);
  },
});

// The pivot: fails, and everything is undone; succeeds, and everything goes forward. It has no compensation.
const chargeDeposit = pivot({
  name: "charge-deposit",
  run: async (dinner: { card: string; guests: number }, { key }) => {
    console.log(`  charge ${dinner.guests * 10} euros`);
    if (dinner.card === "expired") throw new TerminalError("the card has expired", { code: "card.expired" });
    return { receipt: `receipt for ${key.split("/")[1]}` };
  },
});

const sendConfirmation = step({
  name: "send-confirmation",
  run: async (dinner: { table: string; receipt: string }) => {
    console.log(`  confirm table ${dinner.table}, with a ${dinner.receipt}`);
  },
});

const bookDinner = defineSaga({
  name: "book-dinner",
  version: 1,
  input: z.object({ guests: z.int().positive(), card: z.string() }),
  steps: [reserveTable, chargeDeposit, sendConfirmation],
});

console.log(describeSaga(bookDinner).text);

// In this process and without a database: good for a first look, and for tests. Example 02 has the same, durable.
await using executor = inProcessExecutor({ sagas: [bookDinner] });

console.log("\nWith a good card:");
const good = await executor.start(bookDinner, { guests: 4, card: "good" });
const happy = await good.outcome();
console.log(happy.status, happy.status === "completed" ? happy.output : happy.error.message);

console.log("\nWith an expired one:");
const bad = await executor.start(bookDinner, { guests: 2, card: "expired" }, { id: "dinner-2" });
const sad = await bad.outcome();
console.log(sad.status, sad.status === "completed" ? sad.output : `${sad.error.code}: ${sad.error.message}`);

/* Expected output:
book-dinner, version 1

  1. reserve-table      compensatable  undone by its compensation
  ════ the point of no return: a stop is refused from here on ════
  2. charge-deposit     pivot
  3. send-confirmation  retriable

With a good card:
  reserve a table for 4
  charge 40 euros
  confirm table T7, with a receipt for charge-deposit
completed { table: 'T7', receipt: 'receipt for charge-deposit' }

With an expired one:
  reserve a table for 2
  charge 20 euros
  give back T7
failed run.failed: run "dinner-2" failed at step "charge-deposit": the card has expired; everything was undone
*/
