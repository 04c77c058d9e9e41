// THE COMMAND `rubicon`: one call in, an exit code out.

import { CommanderError } from "commander";
import { doors as realDoors } from "./doors.js";
import { type ExitCode, exitCodeOf, exitCodes, tellFailure } from "./failure.js";
import type { Doors } from "./invocation.js";
import { type Io, processIo } from "./io.js";
import { program } from "./program.js";

/** Runs the command that `argv` (without node and script) names. Never throws. */
export async function rubicon(argv: readonly string[], io: Io, doors: Doors = realDoors): Promise<ExitCode> {
  let code: ExitCode = exitCodes.done;
  const root = program({
    io,
    doors,
    ended: (ended) => {
      code = ended;
    },
  });
  try {
    await root.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    // Commander has written what is wrong; asking for help, or for the version, is no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage;
    const { json = false, debug = false } = root.opts();
    tellFailure(io, error, { json, debug });
    return exitCodeOf(error);
  }
}

/** The process's own call. */
export async function runCommand(): Promise<void> {
  process.exitCode = await rubicon(process.argv.slice(2), processIo());
}
