// A TRIP: three bookings that are worth nothing one without the other, then the payment that makes them final. Shows output
// schemas, a step used twice under other names, and limits of a step's own.

import { defineSaga, named, pivot, step } from "rubicon-saga";
import { z } from "zod";
import type { Outside } from "../outside.js";

const input = z.object({
  traveller: z.string().min(1),
  from: z.string().length(3),
  to: z.string().length(3),
  departure: z.date(),
  nights: z.int().positive(),
  priceCents: z.int().positive(),
});

/** `outside`: the airline, the hotel and the card processor. */
export function tripBooking(outside: Outside) {
  const bookFlight = step({
    name: "book-flight",
    output: z.object({ ticket: z.string(), bookedFor: z.date() }),
    run: async (trip: { traveller: string; from: string; to: string; departure: Date }, { key, signal }) => {
      const { traveller, from, to, departure } = trip;
      const { id } = await outside.call("book-flight", { key, signal, body: { traveller, from, to, departure } });
      return { ticket: id, bookedFor: departure };
    },
    compensate: (_trip, { forwardKey }) => outside.revoke(forwardKey),
    // An airline's system may take its time, and is not worth a storm of calls.
    timeout: "90s",
    retry: { maxAttempts: 5, firstDelay: "1s", maxDelay: "30s" },
  });

  const bookRoom = step({
    name: "book-room",
    output: z.object({ confirmation: z.string() }),
    run: async (trip: { traveller: string; to: string; nights: number }, { key, signal }) => {
      const { id } = await outside.call("book-room", { key, signal, body: { city: trip.to, nights: trip.nights } });
      return { confirmation: id };
    },
    compensate: (_trip, { forwardKey }) => outside.revoke(forwardKey),
  });

  const takePayment = pivot({
    name: "take-payment",
    run: async (trip: { traveller: string; priceCents: number }, { key, signal }) => {
      const { id } = await outside.call("take-payment", { key, signal, body: { priceCents: trip.priceCents } });
      return { paymentId: id };
    },
    reconcile: async (_trip, { key }) => {
      const payment = await outside.settle(key);
      return payment === undefined ? { happened: false } : { happened: true, output: { paymentId: payment.id } };
    },
  });

  const sendMail = step({
    name: "send-mail",
    run: async (trip: { traveller: string; paymentId: string }, { key, signal }) => {
      const { id } = await outside.call("send-mail", {
        key,
        signal,
        body: { to: trip.traveller, about: trip.paymentId },
      });
      return { mailId: id };
    },
  });

  return defineSaga({
    name: "trip-booking",
    version: 1,
    input,
    steps: [
      bookFlight,
      named(bookRoom, "book-hotel", { into: "hotel" }),
      named(bookRoom, "book-lounge", { into: "lounge" }),
      takePayment,
      named(sendMail, "send-itinerary", { into: "itinerary" }),
      named(sendMail, "send-invoice", { into: "invoice" }),
    ],
    output: (trip) => ({ ticket: trip.ticket, hotel: trip.hotel.confirmation, paymentId: trip.paymentId }),
    maxDuration: "1d",
  });
}
