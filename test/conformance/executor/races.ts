// ASKS AT THE WORST MOMENT: around the last step, and against the pivot, again and again (design 1.2, 1.7).

import { describe, expect, test } from "vitest";
import { until } from "../../support/until.js";
import { Bench, type MakeExecutor, stop } from "./bench.js";

/** Waits for a number of turns of the event loop: a moment that differs from one repetition to the next. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const repetitions = Array.from({ length: 60 }, (_, index) => index);

export function races(make: MakeExecutor): void {
  describe("an ask at the worst moment", () => {
    test("CXL-1: around the last step's completion each ask has one of two answers, and the end agrees with it", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([
        bench.step("S1", { run: (_, { signal }) => turns(6).then(() => signal.throwIfAborted()) }),
      ]);
      const executor = await bench.executor([saga]);
      const pairs = await Promise.all(
        repetitions.map(async (repetition) => {
          const run = await executor.start(saga, {});
          await until("it begins", () => bench.outside.count("S1", "forward", run.id) > 0);
          await turns(repetition % 14);
          const { verdict, status } = await stop(executor, run.id);
          const outcome = await run.outcome();
          const undone = bench.outside.count("S1", "compensate", run.id);
          return [verdict, status, outcome.status, undone].join(" ");
        }),
      );
      for (const pair of pairs) expect(["cancelling  cancelled 1", "finished completed completed 0"]).toContain(pair);
    });

    test("CXL-4: against the pivot exactly one wins: never both the pivot and a compensation", async () => {
      const bench = new Bench(make);
      const saga = bench.saga([bench.step("S1", { run: () => turns(3) }), bench.pivot("P", { run: () => turns(2) })]);
      const executor = await bench.executor([saga]);
      const ends = await Promise.all(
        repetitions.map(async (repetition) => {
          const run = await executor.start(saga, {});
          await until("it begins", () => bench.outside.count("S1", "forward", run.id) > 0);
          await turns(repetition % 8);
          const { verdict } = await stop(executor, run.id);
          const { status } = await run.outcome();
          const refused = (await executor.get(run.id))?.cancelRefusedAt !== undefined;
          const counts = `P${bench.outside.count("P", "forward", run.id)} C${bench.outside.count("S1", "compensate", run.id)}`;
          return `${verdict} ${status} ${refused ? "refused" : "-"} ${counts}`;
        }),
      );
      for (const end of ends)
        expect([
          "cancelling cancelled - P0 C1",
          "refused completed refused P1 C0",
          "finished completed - P1 C0",
        ]).toContain(end);
    });
  });
}
