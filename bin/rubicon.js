#!/usr/bin/env node
// The command as npm installs it. All of it is in dist/src/cli; this only finds it, and says so when it is not built.

import { existsSync } from "node:fs";

const entry = new URL("../dist/src/cli/index.js", import.meta.url);

if (existsSync(entry)) {
  const { runCommand } = await import(entry.href);
  await runCommand();
} else {
  process.stderr.write("rubicon is not built yet. Run `npm run build` first (or `npm run demo`, which builds it).\n");
  process.exitCode = 1;
}
