// THE COMMAND `rubicon`: one call in, an exit code out.

import { CommanderError } from "commander";
import { doors as realDoors } from "./doors.js";
import { type ExitCode, exitCodeOf, exitCodes, tellFailure, WrongUsage } from "./failure.js";
import type { Doors } from "./invocation.js";
import { type Io, processIo } from "./io.js";
import { program } from "./program.js";

/** Runs the command that `argv` (without node and script) names. Never throws. */
export async function rubicon(argv: readonly string[], io: Io, doors: Doors = realDoors): Promise<ExitCode> {
  let code: ExitCode = exitCodes.done;
  const json = argv.includes("--json");
  const root = program({
    // What commander writes about wrong usage is text.
    io: json ? { ...io, err: () => {} } : io,
    doors,
    ended: (ended) => {
      code = ended;
    },
  });
  try {
    await root.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return usageOf(error, json ? io : undefined);
    tellFailure(io, error, { json, debug: root.opts().debug === true });
    return exitCodeOf(error);
  }
}

/** Commander has written what is wrong, unless it has to be JSON; asking for help, or for the version, is no failure. */
function usageOf(error: CommanderError, jsonTo: Io | undefined): ExitCode {
  if (error.exitCode === 0) return exitCodes.done;
  if (jsonTo !== undefined)
    tellFailure(jsonTo, new WrongUsage(error.message.replace(/^error: /, "")), { json: true, debug: false });
  return exitCodes.wrongUsage;
}

/** The process's own call. */
export async function runCommand(): Promise<void> {
  process.exitCode = await rubicon(process.argv.slice(2), processIo());
}
