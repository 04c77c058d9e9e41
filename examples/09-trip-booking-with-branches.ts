// A TRIP WITH BRANCHES: an insurance that is a saga of its own, a seat for each traveller, and flight, hotel and car at once.
// Where one branch fails for good, all that was done is undone in reverse order of the list, the child by its own journal.
// Run it: npx tsx examples/09-trip-booking-with-branches.ts

import { setTimeout as pause } from "node:timers/promises";
import { child, defineSaga, durableExecutor, forEach, parallel, pivot, step, TerminalError } from "rubicon-saga";
import { z } from "zod";

/** The companies outside. What is booked is kept here; the last word on it is printed when it is undone. */
const booked = new Set<string>();
const undo = (what: string) => {
  booked.delete(what);
  console.log(`  undone: ${what}`);
};

const insured = defineSaga({
  name: "insure",
  version: 1,
  input: z.object({ persons: z.int() }),
  steps: [
    step({
      name: "open-policy",
      run: async ({ persons }: { persons: number }) => {
        booked.add("policy");
        return { policy: `policy for ${persons}` };
      },
      compensate: async () => undo("policy"),
    }),
    step({
      name: "add-baggage",
      run: async () => void booked.add("baggage cover"),
      compensate: async () => undo("baggage cover"),
    }),
  ],
  output: ({ policy }) => ({ policy }),
});

const takeSeat = step({
  name: "take-seat",
  run: async (traveller: { name: string }) => {
    booked.add(`seat of ${traveller.name}`);
    return { seat: `seat of ${traveller.name}` };
  },
  compensate: async (traveller) => undo(`seat of ${traveller.name}`),
});

const bookFlight = step({
  name: "book-flight",
  run: async (trip: { to: string }) => {
    booked.add("flight");
    return { flight: `flight to ${trip.to}` };
  },
  compensate: async () => undo("flight"),
});

const bookHotel = step({
  name: "book-hotel",
  run: async (trip: { to: string }) => {
    booked.add("hotel");
    return { hotel: `hotel in ${trip.to}` };
  },
  compensate: async () => undo("hotel"),
});

const rentCar = step({
  name: "rent-car",
  run: async (trip: { to: string }) => {
    // The slowest of the three: the others are booked when this one says no.
    while (!(booked.has("flight") && booked.has("hotel"))) await pause(5);
    if (trip.to === "Venice") throw new TerminalError("no cars in Venice");
    booked.add("car");
    return { car: `car in ${trip.to}` };
  },
  compensate: async () => undo("car"),
});

const pay = pivot({ name: "pay", run: async () => ({ paymentId: "p-1" }) });

const bookTrip = defineSaga({
  name: "trip-with-branches",
  version: 1,
  input: z.object({ to: z.string(), travellers: z.array(z.object({ name: z.string() })) }),
  steps: [
    child({
      name: "insurance",
      saga: insured,
      input: (trip: { travellers: readonly unknown[] }) => ({ persons: trip.travellers.length }),
    }),
    forEach({
      name: "seats",
      over: (trip: { travellers: readonly { name: string }[] }) => trip.travellers,
      step: takeSeat,
      concurrency: 2,
    }),
    parallel([bookFlight, bookHotel, rentCar]),
    pay,
  ],
  output: ({ insurance, seats, flight, hotel, car }) => ({
    all: [insurance.policy, ...seats.map(({ seat }) => seat), flight, hotel, car],
  }),
});

await using executor = await durableExecutor({
  sagas: [bookTrip],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});

const travellers = [{ name: "Ada" }, { name: "Bo" }];
for (const to of ["Rome", "Venice"]) {
  console.log(`${to}:`);
  booked.clear();
  const run = await executor.start(bookTrip, { to, travellers });
  const outcome = await run.outcome();
  if (outcome.status === "completed") for (const each of outcome.output.all) console.log(`  ${each}`);
  const why = outcome.status === "failed" ? `, because of ${outcome.error.step}` : "";
  console.log(`  ends ${outcome.status}${why}; its child ${(await executor.get(`${run.id}/insurance`))?.status}`);
}
console.log(`Still booked: ${booked.size}`);

/* Expected output:
Rome:
  policy for 2
  seat of Ada
  seat of Bo
  flight to Rome
  hotel in Rome
  car in Rome
  ends completed; its child completed
Venice:
  undone: hotel
  undone: flight
  undone: seat of Bo
  undone: seat of Ada
  undone: baggage cover
  undone: policy
  ends failed, because of rent-car; its child cancelled
Still booked: 0
*/
