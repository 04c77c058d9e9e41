// WHICH DATABASE a command speaks to: an option, else DATABASE_URL, else the embedded one in ./.rubicon.

import { WrongUsage } from "./failure.js";
import type { Io } from "./io.js";

/** Options that every command takes. */
export interface GlobalOptions {
  readonly database?: string;
  readonly embedded?: string;
  readonly schema?: string;
  readonly tenant?: string;
  readonly json?: boolean;
  readonly debug?: boolean;
}

export interface Target {
  /** As `durableExecutor` takes it. */
  readonly database: string;
  readonly schema: string;
  readonly tenant: string;
}

export const defaultDirectory = "./.rubicon";

/** @throws WrongUsage */
export function targetOf(options: GlobalOptions, env: Io["env"], defaultSchema = "rubicon"): Target {
  if (options.database !== undefined && options.embedded !== undefined)
    throw new WrongUsage("--database and --embedded name two databases; give one of them");
  const fromEnv = env.DATABASE_URL === "" ? undefined : env.DATABASE_URL;
  const database =
    options.database ??
    (options.embedded === undefined ? (fromEnv ?? `embedded:${defaultDirectory}`) : `embedded:${options.embedded}`);
  return { database, schema: options.schema ?? defaultSchema, tenant: options.tenant ?? "" };
}

/** The database's name for people: without its password. */
export function targetText({ database, schema }: Target): string {
  return `${database.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1:***@").replace(/([?&]password=)[^&]*/, "$1***")}, schema ${schema}`;
}
