// WHAT `durableExecutor` CAN BE TOLD: units, defaults, one parse at the door (design 2.2).

import type { Pool } from "pg";
import { z } from "zod";
import type { Duration } from "../definition/duration.js";
import { type Fault, OptionsInvalidError } from "../errors/usage-errors.js";
import {
  durationOption,
  type ExecutorOptions,
  executorOptions,
  maxCrashesOption,
  parseOptions,
} from "../executor/options.js";

export interface WorkerOptions {
  /** Runs driven at once. Default 100. */
  readonly slots?: number;
  /** How long the worker's runs stay its own without a beat. Default "30s", least "500ms". */
  readonly lease?: Duration;
  /** Between two beats; at most a third of the lease. Default "5s", or a sixth of a shorter lease. */
  readonly beat?: Duration;
  /** Between two looks for due runs that no notification told of. Default "1s". */
  readonly poll?: Duration;
  /** Crashes in a row that end a step whose attempts are unlimited. Default 5. */
  readonly maxCrashes?: number;
  /** Whose runs it takes up, 1 to 100 tenants; `""` means runs of no tenant. Default: everybody's. */
  readonly tenants?: readonly string[];
}

export interface DurableOptions extends ExecutorOptions {
  /** A connection string, a `pg.Pool` (two of its clients are kept for good; at least four), or `"embedded:DIR"`. */
  readonly database: string | Pool;
  /** How long to try to reach the database before `durableExecutor` gives up. Default "10s". */
  readonly connectWithin?: Duration;
  /** The schema that holds the tables: any identifier. Default "rubicon". */
  readonly schema?: string;
  /** Whether to migrate the schema first. Default: only for the embedded database. */
  readonly migrate?: boolean;
  /** Scopes ids, lists and every verb: 200 characters at most. Default "": no tenant. A worker drives all tenants' runs. */
  readonly tenant?: string;
  /** Behind a transaction pooler such as PgBouncer: no named statements, no session state. Default false. */
  readonly pooled?: boolean;
  /** Where to LISTEN: a connection string of its own (past a pooler), or `false` for polling alone. Default: the database. */
  readonly listen?: string | false;
  /** How this process drives runs; `false` makes it a client only. */
  readonly worker?: WorkerOptions | false;
}

const isPool = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as Pool).connect === "function" &&
  typeof (value as Pool).on === "function";

/** Anything else `pg` would take for the name of a database on this machine. */
const isConnectionString = (value: unknown): boolean =>
  typeof value === "string" && /^(postgres(ql)?:\/\/|socket:|embedded:|\/)/i.test(value);

const noNul = (text: string) => !text.includes("\0");

const tenantOption = z
  .string()
  .max(200)
  .refine(noNul, "must not contain NUL")
  .refine((text) => !/\p{Surrogate}/u.test(text), "must not contain half of a surrogate pair");

const workerOptions = z.strictObject({
  slots: z.int().min(1).max(10_000).default(100),
  lease: durationOption({ positive: true }).default(30_000),
  beat: durationOption({ positive: true }).optional(),
  poll: durationOption({ positive: true }).default(1_000),
  maxCrashes: maxCrashesOption,
  tenants: z.array(tenantOption).min(1).max(100).optional(),
});

const durableOptions = z.strictObject({
  ...executorOptions,
  database: z.custom<string | Pool>(
    (value) => isConnectionString(value) || isPool(value),
    'must be a connection string such as "postgresql://user@host:5432/name", a pg.Pool, or "embedded:DIR"',
  ),
  connectWithin: durationOption({ positive: true }).default(10_000),
  schema: z.string().min(1).max(63).refine(noNul, "must not contain NUL").default("rubicon"),
  migrate: z.boolean().optional(),
  tenant: tenantOption.default(""),
  pooled: z.boolean().default(false),
  listen: z
    .custom<string | false>(
      (value) => isConnectionString(value) || value === false,
      "must be a connection string, or false for polling alone",
    )
    .optional(),
  worker: workerOptions.prefault({}),
});

/** How this process drives runs, in milliseconds. */
export interface DrivingOptions {
  readonly slots: number;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly pollMs: number;
  readonly maxCrashes: number;
  readonly tenants?: readonly string[];
}

const leastLeaseMs = 500;

/** @throws OptionsInvalidError */
export function parseDurableOptions(options: DurableOptions) {
  const clientOnly = options?.worker === false;
  const { worker: own, ...rest } = parseOptions(
    "durableExecutor",
    durableOptions,
    clientOnly ? { ...options, worker: undefined } : options,
  );
  if (clientOnly) return { ...rest, worker: false as const };
  const { slots, lease, poll, maxCrashes, tenants } = own;
  const beat = own.beat ?? Math.min(5_000, lease / 6);
  const faults: Fault[] = [];
  if (lease < leastLeaseMs) faults.push({ at: "worker.lease", fault: `must be at least ${leastLeaseMs} ms` });
  if (beat * 3 > lease)
    faults.push({
      at: "worker.beat",
      fault: "must be at most a third of worker.lease, so that one late beat loses nothing",
    });
  if (faults.length > 0) throw new OptionsInvalidError("durableExecutor", faults);
  const worker: DrivingOptions = {
    slots,
    leaseMs: lease,
    beatMs: beat,
    pollMs: poll,
    maxCrashes,
    ...(tenants === undefined ? {} : { tenants: [...new Set(tenants)] }),
  };
  return { ...rest, worker };
}
