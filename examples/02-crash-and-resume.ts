// A CRASH, AND ANOTHER PROCESS THAT GOES ON: this program starts itself as a worker, kills that with SIGKILL in the middle
// of a step, and starts another one. Completed steps are not repeated; the one under way is, under the same key.
// Run it: npx tsx examples/02-crash-and-resume.ts

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type DurableOptions, defineSaga, durableExecutor, step } from "rubicon-saga";
import { z } from "zod";

/** Tells the parent which step runs, in which attempt and under which key. */
const report = (step: string, { attempt, key }: { attempt: number; key: string }) =>
  process.send?.(`${step}, attempt ${attempt}, key ends in ${key.slice(key.lastIndexOf("/"))}`);

const mixDough = step({
  name: "mix-dough",
  nothingToUndo: true,
  run: async (_cake: { flavour: string }, tools) => {
    report("mix-dough", tools);
    return { dough: "fluffy" };
  },
});

const bake = step({
  name: "bake",
  nothingToUndo: true,
  run: async (cake: { dough: string }, tools) => {
    report("bake", tools);
    // The first attempt stands for anything that is under way when the process dies.
    if (tools.attempt === 1) await new Promise(() => {});
    return { cake: `${cake.dough} cake` };
  },
});

const decorate = step({
  name: "decorate",
  nothingToUndo: true,
  run: async (cake: { cake: string; flavour: string }, tools) => {
    report("decorate", tools);
    return { done: `${cake.cake} with ${cake.flavour}` };
  },
});

const bakeCake = defineSaga({
  name: "bake-cake",
  version: 1,
  input: z.object({ flavour: z.string() }),
  steps: [mixDough, bake, decorate],
});

const options: DurableOptions = {
  sagas: [bakeCake],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
};

if (process.argv[2] === "worker") {
  await durableExecutor(options);
  process.once("disconnect", () => process.exit());
  process.send?.("ready");
} else {
  await main();
}

async function main(): Promise<void> {
  // A client: it starts and watches runs, and drives none.
  await using client = await durableExecutor({ ...options, worker: false });

  const first = await startWorker("first");
  const baking = said(first, "bake,");
  const run = await client.start(bakeCake, { flavour: "cherries" });
  await baking;
  first.kill("SIGKILL");
  await once(first, "exit");
  console.log("first worker: killed in the middle of bake");

  const second = await startWorker("second");
  const outcome = await run.outcome({ timeout: "60s" });
  console.log(outcome.status, outcome.status === "completed" ? outcome.output.done : outcome.error);

  const takenOver = (await client.history(run.id)).some(({ entry }) => entry.kind === "taken_up" && entry.crash);
  console.log(`the journal tells of the crash: ${takenOver}`);
  second.kill("SIGKILL");
}

/** Starts this program as a worker; resolves when it is ready. */
async function startWorker(name: string): Promise<ChildProcess> {
  const worker = fork(fileURLToPath(import.meta.url), ["worker"]);
  worker.on("message", (line) => console.log(`${name} worker: ${line}`));
  await said(worker, "ready");
  return worker;
}

function said(worker: ChildProcess, start: string): Promise<void> {
  return new Promise((resolve) => {
    worker.on("message", (line) => {
      if (String(line).startsWith(start)) resolve();
    });
  });
}

/* Expected output:
first worker: ready
first worker: mix-dough, attempt 1, key ends in /mix-dough
first worker: bake, attempt 1, key ends in /bake
first worker: killed in the middle of bake
second worker: ready
second worker: bake, attempt 2, key ends in /bake
second worker: decorate, attempt 1, key ends in /decorate
completed fluffy cake with cherries
the journal tells of the crash: true
*/
