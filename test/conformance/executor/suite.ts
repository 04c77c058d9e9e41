// ONE SUITE FOR ALL EXECUTORS: what a saga is promised, whoever drives it (design 1, 2.2).

import type { MakeExecutor } from "./bench.js";
import { cancelling } from "./cancel.js";
import { closing } from "./closing.js";
import { failing } from "./errors.js";
import { operating } from "./operators.js";
import { pivoting } from "./pivot.js";
import { rollback } from "./rollback.js";
import { running } from "./running.js";
import { starting } from "./starting.js";
import { values } from "./values.js";

export function executorSuite(make: MakeExecutor): void {
  running(make);
  rollback(make);
  pivoting(make);
  cancelling(make);
  failing(make);
  values(make);
  starting(make);
  operating(make);
  closing(make);
}
