// AN ORDER THAT TAKES DAYS, made short: charge, ship as a saga of its own, sleep, wait for a confirmation until a deadline,
// close. No worker is held while it sleeps or waits, and a confirmation that comes early waits in line.
// Run it: npx tsx examples/12-order-with-shipping-as-a-child.ts

import { child, defineSaga, durableExecutor, pivot, sleep, step, waitForSignal } from "rubicon-saga";
import { z } from "zod";

const packParcel = step({
  name: "pack-parcel",
  run: async ({ orderId }: { orderId: string }) => ({ parcel: `parcel of ${orderId}` }),
  compensate: async () => console.log("  unpacked"),
});

// It stands after the order's pivot, so it may have a pivot of its own.
const handToCarrier = pivot({
  name: "hand-to-carrier",
  run: async ({ parcel }: { parcel: string }) => ({ tracking: `tracking of ${parcel}` }),
});

const ship = defineSaga({
  name: "ship",
  version: 1,
  input: z.object({ orderId: z.string() }),
  steps: [packParcel, handToCarrier],
  output: ({ tracking }) => ({ tracking }),
});

const charge = pivot({
  name: "charge",
  run: async (order: { cents: number }) => ({ charge: `${order.cents} cents` }),
});

const close = step({
  name: "close",
  run: async ({ delivered }: { delivered: { received: boolean } }) => ({
    closed: delivered.received ? "confirmed by the customer" : "taken as delivered: nobody said otherwise",
  }),
});

const order = defineSaga({
  name: "order-with-shipping",
  version: 1,
  input: z.object({ orderId: z.string(), cents: z.int() }),
  steps: [
    charge,
    child({ name: "shipping", saga: ship, input: ({ orderId }: { orderId: string }) => ({ orderId }) }),
    // In life: for "3d", and within "14d".
    sleep({ name: "on-the-road", for: "300ms" }),
    waitForSignal({ name: "delivered", payload: z.object({ signedBy: z.string() }), within: "500ms" }),
    close,
  ],
  output: ({ charge, shipping, closed }) => ({ charge, tracking: shipping.tracking, closed }),
});

await using executor = await durableExecutor({
  sagas: [order],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});

for (const confirms of [true, false]) {
  console.log(confirms ? "The customer confirms:" : "The customer says nothing:");
  const run = await executor.start(order, { orderId: `o-${confirms ? 1 : 2}`, cents: 4_900 });
  if (confirms) {
    // Long before the order waits for it.
    const { verdict } = await executor.signal(run.id, "delivered", { signedBy: "Ada" });
    console.log(`  signal: ${verdict}`);
  }
  const { charge, tracking, closed } = await run.result();
  console.log(`  charged ${charge}, ${tracking}`);
  console.log(`  closed: ${closed}`);
  console.log(`  the child: ${(await executor.get(`${run.id}/shipping`))?.status}`);
}

/* Expected output:
The customer confirms:
  signal: received
  charged 4900 cents, tracking of parcel of o-1
  closed: confirmed by the customer
  the child: completed
The customer says nothing:
  charged 4900 cents, tracking of parcel of o-2
  closed: taken as delivered: nobody said otherwise
  the child: completed
*/
