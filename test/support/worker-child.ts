// THE PROGRAM of a worker process in tests: a durable executor with some sagas, until SIGTERM. Dies with its parent.

import { runInThisContext } from "node:vm";
import { durableExecutor } from "rubicon-saga";
import type { WorkerProcessOptions } from "./worker-process.js";

const options: WorkerProcessOptions = JSON.parse(process.env.RUBICON_TEST!);
// The parent holds the other end: when it is gone, so are we.
process.stdin.on("end", () => process.exit(9)).resume();
if (options.prelude !== undefined) runInThisContext(options.prelude);

const line = (level: string) => (fields: object, message?: string) =>
  console.log(
    `${level} ${message ?? ""} ${JSON.stringify(fields, (_key, value) => (value instanceof Error ? `${value.name}: ${value.message}` : value))}`,
  );
const { sagas } = await import(new URL(`../${options.sagas}`, import.meta.url).href);

const executor = await durableExecutor({
  sagas: sagas(options.outside),
  database: options.database,
  logger: { debug: () => {}, info: line("info"), warn: line("warn"), error: line("error") },
  ...(options.schema === undefined ? {} : { schema: options.schema }),
  ...(options.worker === undefined ? {} : { worker: options.worker }),
  ...(options.retry === undefined ? {} : { retry: options.retry }),
  ...(options.listen === undefined ? {} : { listen: options.listen }),
});

process.once("SIGTERM", async () => {
  await executor.close({ grace: options.graceMs ?? 10_000 });
  console.log("closed");
  process.exit(0);
});
console.log("ready");
