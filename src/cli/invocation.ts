// ONE CALL OF THE COMMAND: its streams, its options, and the doors to databases. Opens and closes what a command works with.

import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { SagaExecutor } from "../index.js";
import type { Database } from "../store/db.js";
import { CommandFailure } from "./failure.js";
import type { Io } from "./io.js";
import { toJson } from "./render/json.js";
import { type Paint, painter } from "./render/paint.js";
import { type GlobalOptions, type Target, targetOf } from "./target.js";

/** How a command gets at runs and tables; tests hand in their own. */
export interface Doors {
  /** A client: it drives nothing. */
  readonly openClient: (target: Target) => Promise<SagaExecutor>;
  /** The tables themselves, for `migrate` and `doctor`. Opens no connection yet. */
  readonly openStore: (target: Target) => Promise<Database>;
}

export interface Invocation {
  readonly io: Io;
  readonly doors: Doors;
  readonly options: GlobalOptions;
}

const embeddedScheme = "embedded:";

/**
 * The database that the command is about, an embedded folder made absolute.
 *
 * @param fresh whether an embedded database may be made by this command; else its folder has to be there
 * @throws WrongUsage, CommandFailure `embedded.absent`
 */
export function requireTarget({ io, options }: Pick<Invocation, "io" | "options">, fresh = false): Target {
  const target = targetOf(options, io.env);
  if (!target.database.startsWith(embeddedScheme)) return target;
  const given = target.database.slice(embeddedScheme.length);
  const folder = isAbsolute(given) ? given : resolve(io.cwd, given);
  if (!fresh && !existsSync(folder))
    throw new CommandFailure(
      "embedded.absent",
      `there is no embedded database in ${folder}. Set --database or DATABASE_URL, name its folder with --embedded, ` +
        "or begin one with `rubicon demo`, `rubicon worker` or `rubicon migrate`.",
    );
  return { ...target, database: `${embeddedScheme}${folder}` };
}

/** Does `work` with a client of the target, and closes it. */
export async function withClient<T>(invocation: Invocation, work: (client: SagaExecutor) => Promise<T>): Promise<T> {
  const client = await invocation.doors.openClient(requireTarget(invocation));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Writes a result: as JSON with `--json`, else as text, which ends without a line feed. */
export function print({ io, options }: Invocation, value: unknown, text: (paint: Paint) => string): void {
  io.out(`${options.json === true ? toJson(value) : text(painter(io.colours))}\n`);
}
