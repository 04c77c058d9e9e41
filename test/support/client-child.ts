// THE PROGRAM of a client in another process: one JSON command a line, one JSON answer a line. Ends with its input.

import { createInterface } from "node:readline";
import { durableExecutor } from "rubicon-saga";
import { sagas } from "../crash/told-sagas.js";

const { database, outside } = JSON.parse(process.env.RUBICON_TEST!);
const known = sagas(outside);
const client = await durableExecutor({ sagas: known, database, worker: false });

const answer = async (command: any): Promise<unknown> => {
  if (command.kind === "cancel") return client.requestCancel(command.id, { by: command.by });
  const saga = known.find((each) => each.name === command.saga)!;
  const starts = Array.from({ length: command.times }, () =>
    client.start(saga, undefined as never, { id: command.id }),
  );
  return (await Promise.all(starts)).map(({ id, created }) => ({ id, created }));
};

console.log("ready");
for await (const line of createInterface({ input: process.stdin }))
  console.log(
    JSON.stringify(
      await answer(JSON.parse(line)).catch((error: Error) => ({ error: `${error.name}: ${error.message}` })),
    ),
  );
await client.close();
process.exit(0);
