// THE WORKER OF THE BENCHMARK, in a process of its own that holds nothing else, so that its memory is the worker's alone.
// Tells by IPC what it uses; dies with its parent.

import { durableExecutor } from "rubicon-saga";
import { sagas } from "./sagas.js";

export interface WorkerSettings {
  readonly database: string;
  readonly slots: number;
}

/** Megabytes of 1,000,000 bytes. Of the process as it stands, whatever of it is garbage. */
export interface Memory {
  readonly rssMb: number;
  /** The highest that it ever was. */
  readonly peakRssMb: number;
  readonly heapMb: number;
  readonly timers: number;
}

const settings: WorkerSettings = JSON.parse(process.env.RUBICON_BENCH!);
const megabytes = (bytes: number) => bytes / 1_000_000;

function memory(): Memory {
  const { rss, heapUsed } = process.memoryUsage();
  const peakKilobytes = process.resourceUsage().maxRSS;
  return {
    rssMb: megabytes(rss),
    peakRssMb: megabytes(peakKilobytes * 1_024),
    heapMb: megabytes(heapUsed),
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
  };
}

const say = (level: string) => (fields: object, message?: string) =>
  process.stderr.write(`worker: ${level} ${message} ${JSON.stringify(fields)}\n`);
const executor = await durableExecutor({
  sagas,
  database: settings.database,
  worker: { slots: settings.slots },
  logger: { debug: () => {}, info: () => {}, warn: say("warn"), error: say("error") },
});
process.on("disconnect", () => process.exit(9));
process.on("message", async (ask: "memory" | "memory kept" | "close") => {
  if (ask === "memory") process.send!(memory());
  else if (ask === "memory kept") {
    (globalThis as { gc?: () => void }).gc?.();
    process.send!(memory());
  } else {
    await executor.close();
    process.send!("closed", () => process.exit(0));
  }
});
process.send!("ready");
