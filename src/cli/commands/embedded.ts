// `rubicon embedded url` and `rubicon embedded stop`: the embedded Postgres of a folder, for `psql` and other programs.

import { resolve } from "node:path";
import { ensureEmbedded, stopEmbedded } from "../../store/embedded.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print } from "../invocation.js";
import { defaultDirectory } from "../target.js";

/** Brings the server up, or joins it, and prints its connection string. */
export async function embeddedUrl(invocation: Invocation, directory: string | undefined): Promise<ExitCode> {
  const folder = folderOf(invocation, directory);
  const url = await ensureEmbedded(folder);
  print(invocation, { folder, url }, () => url);
  return exitCodes.done;
}

/** Stops the server. The data stays. */
export async function stopEmbeddedServer(invocation: Invocation, directory: string | undefined): Promise<ExitCode> {
  const folder = folderOf(invocation, directory);
  const stopped = await stopEmbedded(folder);
  print(invocation, { folder, stopped }, () =>
    stopped ? `Stopped the Postgres of ${folder}; its data stays.` : `No Postgres was running for ${folder}.`,
  );
  return exitCodes.done;
}

function folderOf({ io, options }: Invocation, directory: string | undefined): string {
  return resolve(io.cwd, directory ?? options.embedded ?? defaultDirectory);
}
