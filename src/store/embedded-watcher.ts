// The program that `ensureWatcher` starts, with the arguments ROOT IDLE_MS.

import { watch } from "./embedded-watch.js";

const [, , root, idleMs] = process.argv;
await watch(root!, Number(idleMs));
