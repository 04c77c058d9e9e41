// The suite of executors, in process.

import { inProcessExecutor } from "rubicon-saga";
import { childrenOfFunctions } from "./executor/functions-children.js";
import { executorSuite } from "./executor/suite.js";

executorSuite(async (options) => inProcessExecutor(options));
childrenOfFunctions(async (options) => inProcessExecutor(options));
