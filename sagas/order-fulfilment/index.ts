// AN ORDER, from the shelf to the customer: the saga to read first. Its pivot is the charge: before it everything is undone,
// after it everything is delivered. Shows what a late effect needs: a tombstone under the forward key.

import { defineSaga, pivot, step } from "rubicon-saga";
import { z } from "zod";
import type { Outside } from "../outside.js";

/** `outside`: the warehouse, the courier, the card processor and the mail, all of which honour idempotency keys. */
export function orderFulfilment(outside: Outside) {
  const reserveStock = step({
    name: "reserve-stock",
    run: async (order: { sku: string; quantity: number }, { key, signal }) => {
      const { id } = await outside.call("reserve-stock", {
        key,
        signal,
        body: { sku: order.sku, quantity: order.quantity },
      });
      return { reservationId: id };
    },
    // The step may be in doubt: a worker was killed, or cut off, between the call and its answer, and the call may even
    // arrive after this one. So what is taken back is "whatever was made under the forward key", and the tombstone that
    // stays there refuses a late reservation. The same call is right when it is known to be done.
    compensate: (_order, { forwardKey }) => outside.revoke(forwardKey),
  });

  const bookCourier = step({
    name: "book-courier",
    run: async (order: { orderId: string }, { key, signal }) => {
      const { id } = await outside.call("book-courier", { key, signal, body: { orderId: order.orderId } });
      return { courierId: id };
    },
    compensate: (_order, { forwardKey }) => outside.revoke(forwardKey),
  });

  const chargeCard = pivot({
    name: "charge-card",
    run: async (order: { orderId: string; amountCents: number }, { key, signal }) => {
      const { id } = await outside.call("charge-card", { key, signal, body: { amountCents: order.amountCents } });
      return { chargeId: id };
    },
    // Asked when an attempt's answer was lost. `happened: false` promises "and will not any more", so the key is settled
    // first: either there is a charge, or a tombstone now keeps a late one out. The next attempt, under the same key, is
    // then refused for certain, and the order is undone. A processor without such a call can only say `undefined`: can't tell.
    reconcile: async (_order, { key }) => {
      const charge = await outside.settle(key);
      return charge === undefined ? { happened: false } : { happened: true, output: { chargeId: charge.id } };
    },
  });

  const shipParcel = step({
    name: "ship-parcel",
    run: async (order: { reservationId: string; courierId: string; chargeId: string }, { key, signal }) => {
      const { reservationId, courierId } = order;
      const { id } = await outside.call("ship-parcel", { key, signal, body: { reservationId, courierId } });
      return { parcelId: id };
    },
  });

  const sendReceipt = step({
    name: "send-receipt",
    run: async (order: { orderId: string; parcelId: string; chargeId: string }, { key, signal }) => {
      await outside.call("send-receipt", { key, signal, body: { orderId: order.orderId, parcelId: order.parcelId } });
    },
  });

  return defineSaga({
    name: "order-fulfilment",
    version: 1,
    input: z.object({
      orderId: z.string().min(1),
      sku: z.string().min(1),
      quantity: z.int().positive(),
      amountCents: z.int().positive(),
    }),
    steps: [reserveStock, bookCourier, chargeCard, shipParcel, sendReceipt],
    maxDuration: "2h",
  });
}
