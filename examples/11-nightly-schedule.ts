// A SAGA THAT FIRES BY ITSELF: every night at half past two in Berlin, also on the nights on which the clocks change.
// A firing is one run over all workers, and the run knows what it was fired for.
// Run it: npx tsx examples/11-nightly-schedule.ts

import { defineSaga, durableExecutor, firingOf, nextFirings, step } from "rubicon-saga";
import { z } from "zod";

let wrote = () => {};

const writeReport = step({
  name: "write-report",
  nothingToUndo: true,
  run: async (report: { of: string }, { runId }) => {
    const firing = firingOf(runId);
    wrote();
    return { text: `${report.of}, ${firing?.triggered ? "asked for by hand" : "by the clock"}` };
  },
});

const suffix = Date.now().toString(36);
const nightly = `nightly-${suffix}`;

// Declared with its saga, a schedule is put when a worker that has the saga starts. `executor.schedules.put` does it by hand.
const report = defineSaga({
  name: "report",
  version: 1,
  input: z.object({ of: z.string() }),
  steps: [writeReport],
  schedules: [{ id: nightly, cron: "30 2 * * *", timeZone: "Europe/Berlin", input: { of: "the day" } }],
});

await using executor = await durableExecutor({
  sagas: [report],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});

const inBerlin = (at: Date) =>
  new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Berlin", dateStyle: "short", timeStyle: "short" }).format(at);
console.log("Around the night on which 02:30 is left out:");
const timing = { cron: "30 2 * * *", timeZone: "Europe/Berlin" } as const;
for (const at of nextFirings({ ...timing, from: new Date("2026-03-28T00:00:00Z"), count: 3 }))
  console.log(`  ${inBerlin(at)} in Berlin, ${at.toISOString()}`);
console.log("Around the night on which it comes twice:");
for (const at of nextFirings({ ...timing, from: new Date("2026-10-24T12:00:00Z"), count: 2 }))
  console.log(`  ${inBerlin(at)} in Berlin, ${at.toISOString()}`);

const declared = await executor.schedules.get(nightly);
console.log(
  `Declared: ${declared?.cron} in ${declared?.timeZone}, ${declared?.nextFiring ? "has a next firing" : "never"}`,
);

const run = await executor.schedules.trigger(nightly);
console.log(`Fired by hand: ${(await run.outcome()).status}, ${JSON.stringify((await executor.get(run.id))?.output)}`);

const ticks = `ticks-${suffix}`;
const twice = new Promise<void>((resolve) => {
  let times = 0;
  wrote = () => {
    times += 1;
    if (times === 2) resolve();
  };
});
const { nextFiring } = await executor.schedules.put({
  missed: "all",
  id: ticks,
  target: report,
  every: "1s",
  input: { of: "a second" },
});
await twice;
await executor.schedules.pause(ticks);
for (const after of [0, 1_000]) {
  const at = new Date(nextFiring!.getTime() + after);
  const second = await executor.find(`${ticks}@${at.toISOString()}`);
  console.log(`Every second, firing ${after / 1_000 + 1}: ${JSON.stringify(await second?.result())}`);
}

for (const id of [nightly, ticks]) console.log(`Removed: ${await executor.schedules.remove(id)}`);

/* Expected output:
Around the night on which 02:30 is left out:
  2026-03-28 02:30 in Berlin, 2026-03-28T01:30:00.000Z
  2026-03-29 03:00 in Berlin, 2026-03-29T01:00:00.000Z
  2026-03-30 02:30 in Berlin, 2026-03-30T00:30:00.000Z
Around the night on which it comes twice:
  2026-10-25 02:30 in Berlin, 2026-10-25T00:30:00.000Z
  2026-10-26 02:30 in Berlin, 2026-10-26T01:30:00.000Z
Declared: 30 2 * * * in Europe/Berlin, has a next firing
Fired by hand: completed, {"text":"the day, asked for by hand"}
Every second, firing 1: {"text":"a second, by the clock"}
Every second, firing 2: {"text":"a second, by the clock"}
Removed: true
Removed: true
*/
