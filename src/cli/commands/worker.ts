// `rubicon worker --sagas FILE`: drives runs until it is asked to end, then gives back what it has in hand.

import pino from "pino";
import { type DurableOptions, durableExecutor, type Saga } from "../../index.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, requireTarget } from "../invocation.js";
import { loadSagas } from "../sagas-file.js";
import { targetText } from "../target.js";

export interface WorkerFlags {
  readonly sagas: string;
  readonly slots?: number;
  readonly grace: string;
  readonly migrate?: boolean;
  readonly logLevel: string;
}

export async function worker(invocation: Invocation, flags: WorkerFlags): Promise<ExitCode> {
  const { io } = invocation;
  const sagas = await loadSagas(flags.sagas, io.cwd);
  const target = requireTarget(invocation, true);
  const { tenant } = invocation.options;
  const stopping = io.stopping();
  const executor = await durableExecutor({
    sagas,
    ...target,
    // Logs are for the operator, results for scripts: two streams.
    logger: pino({ level: flags.logLevel, base: null }, pino.destination({ fd: 2, sync: true })),
    ...(flags.migrate === true ? { migrate: true } : {}),
    worker: {
      ...(flags.slots === undefined ? {} : { slots: flags.slots }),
      ...(tenant === undefined ? {} : { tenants: [tenant] }),
    },
  } satisfies DurableOptions);
  io.out(`Worker ready: ${sagas.map(nameOf).join(", ")}, on ${targetText(target)}. Ctrl-C ends it.\n`);
  await aborted(stopping);
  io.out(`Stopping: running steps have ${flags.grace}; what is not done then is handed over.\n`);
  await executor.close({ grace: flags.grace as `${number}s` });
  return exitCodes.done;
}

function nameOf({ name, version }: Saga): string {
  return `${name} v${version}`;
}

/** Resolves when `signal` aborts; keeps the process alive until then. */
async function aborted(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => {}, 2 ** 30);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  clearInterval(alive);
}
