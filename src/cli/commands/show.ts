// `rubicon show ID`: one run and all that happened to it.

import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print, withClient } from "../invocation.js";
import { runText } from "../render/run-text.js";
import { unknownRun } from "./unknown-run.js";

export async function show(invocation: Invocation, id: string): Promise<ExitCode> {
  return withClient(invocation, async (client) => {
    const run = await client.get(id);
    if (run === undefined) throw unknownRun(id);
    const history = await client.history(id);
    print(invocation, { run, history }, (paint) => runText(run, history, { paint, width: invocation.io.width }));
    return exitCodes.done;
  });
}
