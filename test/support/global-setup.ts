// One server for the whole suite.

import { startSuiteServer } from "./postgres.js";

export default async function setup(): Promise<() => Promise<void>> {
  const server = await startSuiteServer();
  return server.stop;
}
