// STOP, TRUTHFULLY: the same ask before the pivot and after it. The verdict is final when the call returns.
// Run it: npx tsx examples/03-stop-before-and-after-the-pivot.ts

import { defineSaga, durableExecutor, pivot, step } from "rubicon-saga";
import { z } from "zod";

/** Lets this program decide when a step goes on, so that it can ask to stop in the middle of one. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const reached = { "hold-seats": gate(), "take-payment": gate() };
const mayPay = gate();

const holdSeats = step({
  name: "hold-seats",
  run: async (order: { stopAt: string }, { signal }) => {
    console.log("  hold-seats begins");
    if (order.stopAt === "hold-seats") {
      reached["hold-seats"].open();
      // A call that honours its signal ends when somebody asks to stop. So do `fetch` and `pg` with theirs.
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
    return { seats: ["F12", "F13"] };
  },
  compensate: async (_order, { outcome, cause }) => console.log(`  seats released (${outcome}, cause: ${cause})`),
});

const takePayment = pivot({
  name: "take-payment",
  run: async (order: { stopAt: string; seats: string[] }) => {
    console.log(`  take-payment begins, for ${order.seats.length} seats`);
    if (order.stopAt === "take-payment") {
      reached["take-payment"].open();
      await mayPay.opened;
    }
    return { paymentId: "p-1" };
  },
});

const sendTickets = step({
  name: "send-tickets",
  run: async (_order: { paymentId: string }) => console.log("  tickets sent"),
});

const sellTickets = defineSaga({
  name: "sell-tickets",
  version: 1,
  input: z.object({ stopAt: z.enum(["hold-seats", "take-payment"]) }),
  steps: [holdSeats, takePayment, sendTickets],
});

await using executor = await durableExecutor({
  sagas: [sellTickets],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});

console.log("Before the pivot:");
const early = await executor.start(sellTickets, { stopAt: "hold-seats" });
await reached["hold-seats"].opened;
const accepted = await executor.requestCancel(early.id, { by: "ana@tickets.example", reason: "wrong day" });
console.log(`  Ana asks to stop: ${accepted.verdict}`);
console.log(`  it ends ${(await early.outcome()).status}`);

console.log("After the pivot was entered:");
const late = await executor.start(sellTickets, { stopAt: "take-payment" });
await reached["take-payment"].opened;
const refused = await executor.requestCancel(late.id, { by: "ana@tickets.example", reason: "changed her mind" });
console.log(`  Ana asks to stop: ${refused.verdict}, because of the pivot ${refused.pivot}`);
mayPay.open();
console.log(`  it ends ${(await late.outcome()).status}`);
const view = await executor.get(late.id);
console.log(`  cancel_refused_at is set: ${view?.cancelRefusedAt !== undefined}`);

const again = await executor.requestCancel(late.id, { by: "bo@tickets.example" });
console.log(`  Bo asks too: ${again.verdict}, ${again.status}`);

/* Expected output:
Before the pivot:
  hold-seats begins
  Ana asks to stop: cancelling
  seats released (in_doubt, cause: cancel)
  it ends cancelled
After the pivot was entered:
  hold-seats begins
  take-payment begins, for 2 seats
  Ana asks to stop: refused, because of the pivot take-payment
  tickets sent
  it ends completed
  cancel_refused_at is set: true
  Bo asks too: finished, completed
*/
