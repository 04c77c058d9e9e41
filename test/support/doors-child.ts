// THE PROGRAM of a process that fails to open what it is told to, again and again, and then has nothing left to do: it has
// to end by itself. Prints each error's code and message.

import { type DurableOptions, durableExecutor } from "rubicon-saga";

const attempts: readonly DurableOptions[] = JSON.parse(process.env.RUBICON_TEST!);
for (const options of attempts) {
  const startedAt = performance.now();
  const opened = await durableExecutor(options).catch((error) => error);
  console.log(
    JSON.stringify({
      code: opened.code ?? "none",
      message: opened.message,
      ms: Math.round(performance.now() - startedAt),
    }),
  );
}
console.log("nothing left to do");
