// THE SAGAS OF THIS REPOSITORY, each through its good and its bad days, by the count of the fake outside world.

import { inProcessExecutor, isTerminalError, type Saga } from "rubicon-saga";
import { describe, expect, it } from "vitest";
import { onboarding } from "../../sagas/onboarding/index.js";
import { orderFulfilment } from "../../sagas/order-fulfilment/index.js";
import { type Outside, OutsideWorld } from "../../sagas/outside.js";
import { tripBooking } from "../../sagas/trip-booking/index.js";

const lost = () => {
  throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
};
const soon = { retry: { firstDelay: 1, maxDelay: 1 }, compensationRetry: { firstDelay: 1, maxDelay: 1 } } as const;
const order = { orderId: "o-1", sku: "BOOK-1", quantity: 1, amountCents: 4_200 };

function stageFor<S extends Saga>(make: (world: OutsideWorld) => S) {
  const world = new OutsideWorld();
  const saga = make(world);
  const executor = inProcessExecutor({ sagas: [saga], ...soon });
  return { world, saga, executor };
}

const undone = (world: OutsideWorld) => world.calls.filter((call) => call.kind === "revoke").map((call) => call.action);

describe("order-fulfilment", () => {
  it("does each step once, in order", async () => {
    const { world, saga, executor } = stageFor(orderFulfilment);
    const run = await executor.start(saga, order);
    expect((await run.outcome()).status).toBe("completed");
    expect(world.calls.map((call) => call.action)).toEqual(saga.steps.map((step) => step.name));
  });

  it("undoes everything in reverse when the card is declined", async () => {
    const { world, saga, executor } = stageFor(orderFulfilment);
    world.refuse("charge-card", "r", "declined", 402);
    const outcome = await (await executor.start(saga, order, { id: "r" })).outcome();
    expect(outcome).toMatchObject({ status: "failed", error: { step: "charge-card", owed: [] } });
    expect(undone(world)).toEqual(["book-courier", "reserve-stock"]);
    expect(world.standing("r")).toEqual([]);
  });

  it("refuses a reservation that arrives after it was undone: the tombstone under the forward key", async () => {
    let late: Promise<unknown> | undefined;
    const { world, saga, executor } = stageFor((fake) => {
      const call: Outside["call"] = (action, request) => {
        const answer = fake.call(action, request);
        late ??= answer;
        return answer;
      };
      const through = <Name extends "find" | "revoke" | "settle">(name: Name) => fake[name].bind(fake) as Outside[Name];
      return orderFulfilment({ call, find: through("find"), revoke: through("revoke"), settle: through("settle") });
    });
    let arrive = () => {};
    world.next("reserve-stock", "r", { before: () => new Promise((resolve) => (arrive = resolve)) });
    const run = await executor.start(saga, order, { id: "r" });
    await expect.poll(() => world.count("reserve-stock", "r")).toBe(1);
    expect(await executor.requestCancel("r", { by: "ana" })).toMatchObject({ verdict: "cancelling" });
    // The fake does not honour the signal: the attempt outlives its grace, as a frozen process would.
    expect((await run.outcome()).status).toBe("cancelled");
    arrive();
    await expect(late).rejects.toMatchObject({ status: 410 });
    expect(world.standing("r")).toEqual([]);
  }, 20_000);

  it("goes forward when the answer to the charge was lost: reconcile finds the charge, and nobody charges twice", async () => {
    const { world, saga, executor } = stageFor(orderFulfilment);
    world.next("charge-card", "r", { after: lost });
    expect((await (await executor.start(saga, order, { id: "r" })).outcome()).status).toBe("completed");
    expect(world.count("charge-card", "r")).toBe(1);
    expect(world.count("charge-card", "r", "settle")).toBe(1);
  });

  it("is undone when the charge never arrived: reconcile voids the key before it says so", async () => {
    const { world, saga, executor } = stageFor(orderFulfilment);
    world.next("charge-card", "r", { before: lost });
    expect((await (await executor.start(saga, order, { id: "r" })).outcome()).status).toBe("failed");
    await expect(world.call("charge-card", { key: "r/charge-card" })).rejects.toMatchObject({ status: 410 });
    expect(world.standing("r")).toEqual([]);
  });

  it("does not give up after the pivot", async () => {
    const { world, saga, executor } = stageFor(orderFulfilment);
    world.next("ship-parcel", "r", { before: lost });
    expect((await (await executor.start(saga, order, { id: "r" })).outcome()).status).toBe("completed");
    expect(world.count("ship-parcel", "r")).toBe(2);
  });
});

const trip = {
  traveller: "Ada",
  from: "LHR",
  to: "FCO",
  departure: new Date(86_400_000),
  nights: 2,
  priceCents: 50_000,
};

describe("trip-booking", () => {
  it("gives an output of its own, and books the room and the lounge with one step", async () => {
    const { world, saga, executor } = stageFor(tripBooking);
    const output = await executor.execute(saga, trip, { id: "t" });
    expect(output).toEqual({ ticket: "book-flight-1", hotel: "book-room-2", paymentId: "take-payment-4" });
    expect(world.standing("t").filter((action) => action === "book-room")).toHaveLength(2);
    const flight = (await executor.history("t")).find(({ entry }) => entry.kind === "step_completed");
    expect(flight?.output).toEqual({ ticket: "book-flight-1", bookedFor: trip.departure });
  });

  it("cancels the flight when there is no room", async () => {
    const { world, saga, executor } = stageFor(tripBooking);
    world.refuse("book-room", "t", "full");
    await expect(executor.execute(saga, trip, { id: "t" })).rejects.toMatchObject({
      code: "run.failed",
      step: "book-hotel",
    });
    expect(undone(world)).toEqual(["book-flight"]);
  });

  it("refuses an input that does not fit, and makes no run of it", async () => {
    const { saga, executor } = stageFor(tripBooking);
    await expect(executor.start(saga, { ...trip, nights: 0 }, { id: "t" })).rejects.toMatchObject({
      code: "input.invalid",
    });
    expect(await executor.get("t")).toBeUndefined();
  });
});

describe("onboarding", () => {
  const customer = { email: "ada@example.org", country: "DE", plan: "team" } as const;

  it("does everything that it lists", async () => {
    const { world, saga, executor } = stageFor(onboarding);
    expect((await (await executor.start(saga, customer, { id: "c" })).outcome()).status).toBe("completed");
    expect(world.standing("c")).toEqual(saga.steps.map((step) => step.name));
  });

  it("fails with its own code, and has nothing to undo then", async () => {
    const { world, saga, executor } = stageFor(onboarding);
    const outcome = await (await executor.start(saga, { ...customer, country: "XX" })).outcome();
    expect(outcome).toMatchObject({ status: "failed", error: { cause: { code: "onboarding.country_not_served" } } });
    expect(outcome.status !== "completed" && isTerminalError(outcome.error.cause)).toBe(true);
    expect(world.calls).toEqual([]);
  });

  it("leaves the screening alone when it undoes the rest", async () => {
    const { world, saga, executor } = stageFor(onboarding);
    world.refuse("open-billing", "c", "bad debtor");
    expect((await (await executor.start(saga, customer, { id: "c" })).outcome()).status).toBe("failed");
    expect(undone(world)).toEqual(["assign-licence", "create-account"]);
    expect(world.standing("c")).toEqual(["screen-customer"]);
  });
});
