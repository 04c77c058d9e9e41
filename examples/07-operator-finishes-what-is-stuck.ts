// WHAT NO PROGRAM CAN FINISH, A PERSON CAN: the three ends that need somebody, and the two verbs for them. The command does
// the same: rubicon show, rubicon retry, rubicon resolve.
// Run it: npx tsx examples/07-operator-finishes-what-is-stuck.ts

import { defineSaga, durableExecutor, pivot, step, TerminalError } from "rubicon-saga";
import { z } from "zod";

/** What is broken outside, until an operator has it mended. */
const broken = new Set(["hotel", "bank", "printer"]);

const bookHotel = step({
  name: "book-hotel",
  run: async (_trip: { trouble: string }) => ({ booking: "h-1" }),
  compensate: async (trip) => {
    if (trip.trouble === "hotel" && broken.has("hotel")) throw new TerminalError("the hotel refuses to cancel");
    console.log("  hotel cancelled");
  },
});

const pay = pivot({
  name: "pay",
  run: async (trip: { trouble: string }) => {
    if (trip.trouble === "hotel") throw new TerminalError("card declined");
    // Without a `reconcile`, a terminal error that may have come after the payment leaves it in doubt.
    if (trip.trouble === "bank" && broken.has("bank")) throw new TypeError("bank answered with nonsense");
    return { paymentId: "p-1" };
  },
});

const printTicket = step({
  name: "print-ticket",
  run: async (trip: { trouble: string; paymentId: string }) => {
    if (trip.trouble === "printer" && broken.has("printer")) throw new TerminalError("the printer is on fire");
    return { ticket: `ticket for ${trip.paymentId}` };
  },
});

const bookTrip = defineSaga({
  name: "book-trip",
  version: 1,
  input: z.object({ trouble: z.enum(["hotel", "bank", "printer"]) }),
  steps: [bookHotel, pay, printTicket],
});

await using executor = await durableExecutor({
  sagas: [bookTrip],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});
const by = "cy@operations.example";

console.log("A compensation that can't be done:");
const owing = await executor.start(bookTrip, { trouble: "hotel" });
const owed = await owing.outcome();
console.log(`  ${owed.status}, owed: ${owed.status === "completed" ? "nothing" : owed.error.owed.join(", ")}`);
await executor.resolve(owing.id, { step: "book-hotel", as: "undone", by, note: "cancelled by telephone" });
console.log(`  resolved by hand: ${(await owing.outcome()).status}`);

console.log("A pivot in doubt:");
const doubtful = await executor.start(bookTrip, { trouble: "bank" });
console.log(`  ${(await doubtful.outcome()).status}`);
await executor.resolve(doubtful.id, {
  step: "pay",
  as: "done",
  output: { paymentId: "p-77" },
  by,
  note: "the bank's statement",
});
const settled = await doubtful.outcome();
console.log(`  resolved as done: ${settled.status}, ${settled.status === "completed" ? settled.output.ticket : ""}`);

console.log("A step after the pivot that failed for good:");
const unprinted = await executor.start(bookTrip, { trouble: "printer" });
console.log(`  ${(await unprinted.outcome()).status}`);
broken.delete("printer");
await executor.retry(unprinted.id, { by });
console.log(`  mended and tried again: ${(await unprinted.outcome()).status}`);

console.log("A verb that does not apply says why:");
const refusal = await executor.retry(unprinted.id, { by }).catch((error: Error) => error.message);
console.log(`  ${String(refusal).replace(/run "[^"]*"/, "it")}`);

/* Expected output:
A compensation that can't be done:
  compensation_failed, owed: book-hotel
  resolved by hand: failed
A pivot in doubt:
  in_doubt
  resolved as done: completed, ticket for p-77
A step after the pivot that failed for good:
  forward_incomplete
  mended and tried again: completed
A verb that does not apply says why:
  can't retry it: it ended completed, which is consistent: there is nothing to try again
*/
