// THE PROGRAM of a replica: for each line, a database's address, it opens an executor that migrates, runs one saga and
// closes. Answers a line each: what became of it.

import { createInterface } from "node:readline";
import { defineSaga, durableExecutor, step } from "rubicon-saga";

const saga = defineSaga({
  name: "hello",
  version: 1,
  steps: [step({ name: "S1", run: async (_context: object) => ({ done: true }), nothingToUndo: true })],
});

console.log("ready");
for await (const database of createInterface({ input: process.stdin })) {
  try {
    await using executor = await durableExecutor({ sagas: [saga], database, migrate: true, connectWithin: "30s" });
    const output = await executor.execute(saga, undefined, { timeout: "30s" });
    console.log(JSON.stringify(output));
  } catch (error) {
    console.log(String(error));
  }
}
