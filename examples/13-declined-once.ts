// DECLINED ONCE: the card is refused for now and works a moment later. Only the charge is tried again: what the step before it
// gave is in the journal, so the reservation that is shipped is the one from the first attempt.
// Run it: npx tsx examples/13-declined-once.ts

import { randomUUID } from "node:crypto";
import { defineSaga, durableExecutor, pivot, RetryableError, step } from "rubicon-saga";
import { z } from "zod";

/** The ids that the warehouse gave out, each a new one. */
const reservations: string[] = [];
/** What the card processor was sent. */
const charges: { key: string; reservationId: string }[] = [];

const reserve = step({
  name: "reserve",
  run: async (_order: { sku: string }) => {
    const reservationId = randomUUID();
    reservations.push(reservationId);
    return { reservationId };
  },
  compensate: async () => console.log("released"),
});

const charge = pivot({
  name: "charge",
  run: async ({ reservationId }: { reservationId: string }, { key, attempt }) => {
    charges.push({ key, reservationId });
    console.log(`charge, attempt ${attempt}: ${attempt === 1 ? "declined for now" : "taken"}`);
    if (attempt === 1) throw new RetryableError("declined for now", { retryAfter: 50 });
    return { chargeId: "ch-1" };
  },
});

const ship = step({
  name: "ship",
  run: async ({ reservationId }: { reservationId: string; chargeId: string }) => ({ shipped: reservationId }),
});

const sell = defineSaga({
  name: "sell-declined-once",
  version: 1,
  input: z.object({ sku: z.string() }),
  steps: [reserve, charge, ship],
  output: ({ shipped }) => ({ shipped }),
});

await using executor = await durableExecutor({
  sagas: [sell],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});

const run = await executor.start(sell, { sku: "book" });
const { shipped } = await run.result();
console.log(
  `reserved ${reservations.length} time; shipped what the first attempt reserved: ${shipped === reservations[0]}`,
);
const [first, second] = charges;
console.log(`both attempts had the same key: ${first?.key === second?.key}`);
console.log(`both attempts charged for the same reservation: ${first?.reservationId === second?.reservationId}`);

/* Expected output:
charge, attempt 1: declined for now
charge, attempt 2: taken
reserved 1 time; shipped what the first attempt reserved: true
both attempts had the same key: true
both attempts charged for the same reservation: true
*/
