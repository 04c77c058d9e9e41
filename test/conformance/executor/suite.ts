// ONE SUITE FOR ALL EXECUTORS: what a saga is promised, whoever drives it (design 1, 2.2).

import { attempts } from "./attempts.js";
import { attributes } from "./attributes.js";
import type { MakeExecutor } from "./bench.js";
import { cancelling } from "./cancel.js";
import { children } from "./children.js";
import { closing } from "./closing.js";
import { compensations } from "./compensations.js";
import { concurrency } from "./concurrency.js";
import { deadlines } from "./deadline.js";
import { failing } from "./errors.js";
import { functions } from "./functions.js";
import { callsOfFunctions } from "./functions-calling.js";
import { changingFunctions } from "./functions-changing.js";
import { childrenOfFunctions } from "./functions-children.js";
import { failingFunctions } from "./functions-failing.js";
import { functionsTogether } from "./functions-together.js";
import { handles } from "./handles.js";
import { looking } from "./looking.js";
import { outputs } from "./outputs.js";
import { pivoting } from "./pivot.js";
import { policies } from "./policies.js";
import { races } from "./races.js";
import { reconciling } from "./reconcile.js";
import { resolving } from "./resolve.js";
import { retryingByHand } from "./retry.js";
import { rollback } from "./rollback.js";
import { running } from "./running.js";
import { scheduling } from "./schedules.js";
import { sideBySide } from "./side-by-side.js";
import { sleeping } from "./sleeping.js";
import { starting } from "./starting.js";
import { startingMany } from "./starting-many.js";
import { stoppingWhatRuns } from "./stopping-what-runs.js";
import { values } from "./values.js";

const themes = [
  ...[running, outputs, values, policies, attempts, failing],
  ...[rollback, compensations, reconciling, pivoting, deadlines],
  ...[starting, startingMany, concurrency, handles, cancelling, stoppingWhatRuns, races],
  ...[sleeping, sideBySide, children, scheduling],
  ...[attributes, looking, retryingByHand, resolving, closing],
  ...[functions, failingFunctions, functionsTogether, callsOfFunctions, changingFunctions, childrenOfFunctions],
];

export function executorSuite(make: MakeExecutor): void {
  for (const theme of themes) theme(make);
}
