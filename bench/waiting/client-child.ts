// WHO SENDS THE SIGNALS in the benchmark: a client in a process of its own, as an API that users press a button of would be.

import { durableExecutor } from "rubicon-saga";

export interface ClientSettings {
  readonly database: string;
}

/** Signals to send, all at once, to one run each. */
export interface Sending {
  readonly runIds: readonly string[];
}

/** By the parent's clock, which is this one's too. */
export interface Sent {
  readonly begunAt: number;
  readonly sentAt: number;
  /** How many signals were answered by each verdict. */
  readonly verdicts: Readonly<Record<string, number>>;
}

const settings: ClientSettings = JSON.parse(process.env.RUBICON_BENCH!);
const client = await durableExecutor({ sagas: [], database: settings.database, worker: false });
process.on("disconnect", () => process.exit(9));
process.on("message", async (ask: Sending | "close") => {
  if (ask === "close") {
    await client.close();
    process.send!("closed", () => process.exit(0));
  } else process.send!(await send(ask));
});
process.send!("ready");

async function send({ runIds }: Sending): Promise<Sent> {
  const begunAt = Date.now();
  const answers = await Promise.all(runIds.map((runId) => client.signal(runId, "approval", { by: "bench" })));
  const verdicts: Record<string, number> = {};
  for (const { verdict } of answers) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return { begunAt, sentAt: Date.now(), verdicts };
}
