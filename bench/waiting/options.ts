// WHAT THE BENCHMARK CAN BE TOLD on its command line, parsed at the door.

import { parseArgs } from "node:util";
import { z } from "zod";

const count = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

const schema = z.object({
  /** How many runs wait, half of them for a signal. `startMany` takes 100,000 at most. */
  runs: count(10, 200_000).default(100_000),
  /** To how many runs. Default: 1,000, or a tenth of the runs where that is less. */
  signals: count(1, 100_000).optional(),
  slots: count(1, 10_000).default(100),
  /** Seconds of nothing, once all wait. */
  idle: count(0, 3_600).default(60),
  /**
   * The worker's old space at most, in megabytes. With a limit of its own, 0, Node leaves tens of megabytes of garbage lying
   * where the machine has gigabytes to spare: what is resident then tells of the machine. With this one a worker that kept a
   * kilobyte of each run would die of 100,000.
   */
  heap: count(0, 4_096).default(64),
  /** Where the report goes as JSON. */
  json: z.string().min(1).optional(),
  /** The worker by tsx instead of from `dist`: nothing need be built, and its memory is more than a worker's. */
  source: z.boolean().default(false),
});

export type BenchOptions = Omit<z.output<typeof schema>, "signals"> & { readonly signals: number };

/** @throws Error that says what is wrong */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: text,
      signals: text,
      slots: text,
      idle: text,
      heap: text,
      json: text,
      source: { type: "boolean" },
    },
  });
  const parsed = schema.safeParse(values);
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  const { runs, signals = Math.min(1_000, Math.floor(runs / 10)) } = parsed.data;
  if (signals > Math.floor(runs / 2)) throw new Error("--signals: half of the runs wait for one, and no more");
  return { ...parsed.data, signals };
}
