// WAITING FOR A PERSON, BUT NOT FOR EVER: a discount that somebody may approve in time. The run waits in the database, holds
// no worker, and goes on with what came of it: approved, or nobody answered. The deadline is recorded once, and no crash moves it.
// Run it: npx tsx examples/08-approval-with-a-deadline.ts

import { setTimeout as pause } from "node:timers/promises";
import { type Duration, defineSaga, durableExecutor, pivot, step, waitForSignal } from "rubicon-saga";
import { z } from "zod";

const holdSeats = step({
  name: "hold-seats",
  run: async (order: { seats: number }) => ({ hold: `${order.seats} seats` }),
  compensate: async () => console.log("  seats given back"),
});

/** What a wait with a deadline gives. */
type Approval = { received: true; payload: { by: string; percent: number } } | { received: false };

const chargeCard = pivot({
  name: "charge-card",
  run: async (order: { cents: number; approval: Approval }) => {
    const percent = order.approval.received ? order.approval.payload.percent : 0;
    return { chargedCents: (order.cents * (100 - percent)) / 100 };
  },
});

const sendLetter = step({
  name: "send-letter",
  run: async ({ approval, chargedCents }: { approval: Approval; chargedCents: number }) => ({
    letter: approval.received
      ? `${chargedCents} cents, the discount is from ${approval.payload.by}`
      : `${chargedCents} cents, nobody approved a discount in time`,
  }),
});

const sellSeats = <const Name extends string>(name: Name, within: Duration) =>
  defineSaga({
    name,
    version: 1,
    input: z.object({ seats: z.int(), cents: z.int() }),
    steps: [
      holdSeats,
      waitForSignal({ name: "approval", payload: z.object({ by: z.string(), percent: z.int().max(20) }), within }),
      chargeCard,
      sendLetter,
    ],
    output: ({ letter }) => ({ letter }),
  });

const patient = sellSeats("sell-seats-patiently", "48h");
const hasty = sellSeats("sell-seats-hastily", "300ms");

const options = {
  sagas: [patient, hasty],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
} as const;
await using executor = await durableExecutor({ ...options, migrate: true });
// What the approving person's web page has: a client that drives nothing.
await using office = await durableExecutor({ ...options, worker: false });

console.log("Somebody approves:");
const approved = await executor.start(patient, { seats: 2, cents: 10_000 });
while ((await office.get(approved.id))?.status !== "waiting") await pause(20);
const waiting = (await office.get(approved.id))!;
console.log(`  ${waiting.waiting?.replace(/ until .*/, "")}, held by a worker: ${waiting.worker !== undefined}`);
const tooMuch = await office.signal(approved.id, "approval", { by: "bo", percent: 90 }).catch((error) => error.code);
console.log(`  90 percent: ${tooMuch}`);
// A key makes two clicks one signal.
const click = () => office.signal(approved.id, "approval", { by: "bo", percent: 20 }, { dedupeKey: "form-1" });
const verdicts = [(await click()).verdict, (await click()).verdict];
console.log(`  clicked twice, received ${verdicts.filter((verdict) => verdict === "received").length} time`);
console.log(`  ${(await approved.result()).letter}`);

console.log("Nobody does:");
const ignored = await executor.start(hasty, { seats: 2, cents: 10_000 });
console.log(`  ${(await ignored.result()).letter}`);
const late = await office.signal(ignored.id, "approval", { by: "bo", percent: 20 });
console.log(`  an approval after that: ${late.verdict}`);

/* Expected output:
Somebody approves:
  for signal "approval", held by a worker: false
  90 percent: signal.invalid
  clicked twice, received 1 time
  8000 cents, the discount is from bo
Nobody does:
  10000 cents, nobody approved a discount in time
  an approval after that: finished
*/
