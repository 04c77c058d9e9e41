// The suite of executors, in process.

import { inProcessExecutor } from "rubicon-saga";
import { executorSuite } from "./executor/suite.js";

executorSuite(async (options) => inProcessExecutor(options));
