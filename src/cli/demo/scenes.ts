// WHAT THE DEMO SHOWS, scene by scene. Each plays one run of the saga, waits on conditions only, and says what was promised
// and whether that is what happened: by the outside world's own count, and by the run's journal.

import type { orderFulfilment } from "../../../sagas/order-fulfilment/index.js";
import type { OutsideWorld } from "../../../sagas/outside.js";
import type { HistoryEntry, RunHandle, RunOutcome, SagaExecutor } from "../../index.js";
import type { Troupe } from "./troupe.js";

export interface Stage {
  readonly saga: ReturnType<typeof orderFulfilment>;
  /** Starts and stops runs, drives none. */
  readonly client: SagaExecutor;
  readonly world: OutsideWorld;
  readonly troupe: Troupe;
  readonly tell: (line: string) => void;
}

export interface Scene {
  readonly title: string;
  readonly play: (stage: Stage) => Promise<SceneResult>;
}

export interface SceneResult {
  readonly title: string;
  readonly runId: string;
  readonly status: RunOutcome<unknown>["status"];
  readonly startedAt: Date;
  readonly promises: readonly Promised[];
  readonly history: readonly HistoryEntry[];
}

interface Promised {
  readonly text: string;
  readonly kept: boolean;
}

/** Everything that the saga does, in order. */
const steps = ["reserve-stock", "book-courier", "charge-card", "ship-parcel", "send-receipt"] as const;

export const crashScene: Scene = {
  title: "A worker is killed in the middle of a step; another process goes on",
  play: async (stage) => {
    const { world, troupe, tell } = stage;
    const first = await troupe.engage();
    const runId = freshId();
    const held = world.hold("book-courier", runId);
    const run = await start(stage, runId);
    await troupe.within(held.arrived, "the courier is being booked");
    tell(`Process ${first.pid} drives the run. The courier is booked, and the answer is on its way.`);
    const second = await troupe.engage();
    await first.kill();
    held.release();
    tell(`kill -9 ${first.pid}. Nobody told process ${second.pid}, which now finds out and takes over.`);
    const { status } = await ended(stage, run);
    const counts = steps.map((step) => `${step} ${world.count(step, runId)}`).join(", ");
    tell(`The outside world counted these calls: ${counts}.`);
    return result(stage, crashScene, runId, status, [
      ["the run completed", status === "completed"],
      [
        "no completed step was repeated",
        steps.every((step) => step === "book-courier" || world.count(step, runId) === 1),
      ],
      [
        "the step that was under way was tried again under the same key, and took effect once",
        world.count("book-courier", runId) === 2 && world.standing(runId).join() === steps.join(),
      ],
    ]);
  },
};

export const failureScene: Scene = {
  title: "The card is declined; everything is undone, last step first",
  play: async (stage) => {
    const { world, tell } = stage;
    const runId = freshId();
    world.refuse("charge-card", runId, "card declined", 402);
    const run = await start(stage, runId);
    const { status } = await ended(stage, run);
    tell("The card processor refuses: it did not happen, so the pivot was not passed.");
    const undone = world.calls
      .filter((call) => call.runId === runId && call.kind === "revoke")
      .map((call) => call.action);
    return result(stage, failureScene, runId, status, [
      ["the run ended failed, which says: all undone", status === "failed"],
      ["the courier was cancelled first, then the stock released", undone.join() === "book-courier,reserve-stock"],
      ["nothing is left behind outside", world.standing(runId).length === 0],
    ]);
  },
};

export const stopScene: Scene = {
  title: "A Stop before the pivot is accepted",
  play: async (stage) => {
    const { client, world, troupe, tell } = stage;
    const runId = freshId();
    const held = world.hold("book-courier", runId);
    const run = await start(stage, runId);
    await troupe.within(held.arrived, "the courier is being booked");
    const answer = await client.requestCancel(runId, { by: "ana@shop.example", reason: "customer called" });
    tell(`The courier is being booked when Ana asks to stop. The verdict: ${answer.verdict}.`);
    const { status } = await ended(stage, run);
    held.release();
    return result(stage, stopScene, runId, status, [
      [
        "the verdict was cancelling, and the run ended cancelled",
        answer.verdict === "cancelling" && status === "cancelled",
      ],
      ["the card was never charged", world.count("charge-card", runId) === 0],
      [
        "the booking under way may have happened, so it was taken back as well: nothing is left behind outside",
        world.count("book-courier", runId, "revoke") === 1 && world.standing(runId).length === 0,
      ],
    ]);
  },
};

export const lateStopScene: Scene = {
  title: "A Stop after the pivot is refused, and says so",
  play: async (stage) => {
    const { client, world, troupe, tell } = stage;
    const runId = freshId();
    const held = world.hold("charge-card", runId);
    const run = await start(stage, runId);
    await troupe.within(held.arrived, "the card is being charged");
    const answer = await client.requestCancel(runId, { by: "ana@shop.example", reason: "customer called again" });
    tell(`The card is being charged when Ana asks to stop. The verdict: ${answer.verdict}.`);
    held.release();
    const { status } = await ended(stage, run);
    const view = await client.get(runId);
    const stamp = view?.cancelRefusedAt?.toISOString();
    return result(stage, lateStopScene, runId, status, [
      [
        `the ask was refused, naming the pivot ${answer.pivot}`,
        answer.verdict === "refused" && answer.pivot === "charge-card",
      ],
      [`cancel_refused_at is on the run: ${stamp}`, stamp !== undefined],
      ["the run went forward and completed", status === "completed" && world.standing(runId).join() === steps.join()],
    ]);
  },
};

function start({ client, saga }: Stage, id: string) {
  return client.start(saga, { orderId: id, sku: "BOOK-1", quantity: 1, amountCents: 4_200 }, { id });
}

function ended<T>({ troupe }: Stage, run: RunHandle<T>): Promise<RunOutcome<T>> {
  return troupe.within(run.outcome(), `run ${run.id} has ended`);
}

async function result(
  { client }: Stage,
  { title }: Scene,
  runId: string,
  status: SceneResult["status"],
  promises: readonly (readonly [text: string, kept: boolean])[],
): Promise<SceneResult> {
  const history = await client.history(runId);
  const startedAt = (await client.get(runId))?.createdAt ?? new Date();
  return { title, runId, status, startedAt, promises: promises.map(([text, kept]) => ({ text, kept })), history };
}

function freshId(): string {
  return `demo-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
}
