// `rubicon embedded stop`: stops the embedded Postgres of a folder. The data stays.

import { resolve } from "node:path";
import { stopEmbedded } from "../../store/embedded.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print } from "../invocation.js";
import { defaultDirectory } from "../target.js";

export async function stopEmbeddedServer(invocation: Invocation, directory: string | undefined): Promise<ExitCode> {
  const folder = resolve(invocation.io.cwd, directory ?? invocation.options.embedded ?? defaultDirectory);
  const stopped = await stopEmbedded(folder);
  print(invocation, { folder, stopped }, () =>
    stopped ? `Stopped the Postgres of ${folder}; its data stays.` : `No Postgres was running for ${folder}.`,
  );
  return exitCodes.done;
}
