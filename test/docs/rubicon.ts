// The command, from its source.

import { runCommand } from "../../src/cli/index.js";

await runCommand();
