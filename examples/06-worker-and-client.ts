// A WORKER AND A CLIENT IN TWO PROCESSES: a web process starts, watches and stops runs, and drives none; a worker drives them.
// On SIGTERM the worker lets running steps finish and gives back what it has in hand.
// Run it: npx tsx examples/06-worker-and-client.ts

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type DurableOptions, defineSaga, durableExecutor, step } from "rubicon-saga";
import { z } from "zod";

const resize = step({
  name: "resize",
  nothingToUndo: true,
  run: async (picture: { file: string }) => ({ thumbnail: `small-${picture.file}` }),
});

const publish = step({
  name: "publish",
  nothingToUndo: true,
  run: async (picture: { thumbnail: string }) => ({ url: `https://pictures.example/${picture.thumbnail}` }),
});

const publishPicture = defineSaga({
  name: "publish-picture",
  version: 1,
  input: z.object({ file: z.string() }),
  steps: [resize, publish],
});

const options: DurableOptions = {
  sagas: [publishPicture],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
};

if (process.argv[2] === "worker") await work();
else await serve();

/** The worker's process. `rubicon worker --sagas FILE` does the same. */
async function work(): Promise<void> {
  const executor = await durableExecutor({ ...options, worker: { slots: 20 } });
  process.send?.("ready");
  await once(process, "SIGTERM");
  await executor.close({ grace: "5s" });
  process.disconnect?.();
}

/** The web process: what its request handlers would do. */
async function serve(): Promise<void> {
  await using client = await durableExecutor({ ...options, worker: false });

  const id = `picture-${Date.now().toString(36)}`;
  const run = await client.start(publishPicture, { file: "cat.png" }, { id });
  console.log(`client: started, created ${run.created}`);
  const same = await client.start(publishPicture, { file: "cat.png" }, { id });
  console.log(`client: started again with the same id, created ${same.created}`);
  console.log(`client: somebody drives it: ${(await client.get(id))?.worker !== undefined}`);

  const worker = fork(fileURLToPath(import.meta.url), ["worker"]);
  await once(worker, "message");
  console.log("worker: ready");
  console.log(`client: ${(await run.result({ timeout: "60s" })).url}`);

  const list = await client.list({ saga: "publish-picture", status: "completed", limit: 1 });
  console.log(`client: the newest completed one is it: ${list.runs[0]?.id === id}`);

  worker.kill("SIGTERM");
  const [code] = await once(worker, "exit");
  console.log(`worker: ended with code ${code}`);
}

/* Expected output:
client: started, created true
client: started again with the same id, created false
client: somebody drives it: false
worker: ready
client: https://pictures.example/small-cat.png
client: the newest completed one is it: true
worker: ended with code 0
*/
