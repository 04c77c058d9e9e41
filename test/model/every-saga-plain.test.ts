// Sagas without a pivot, and with a plain one.

import { testEverySaga } from "./every-saga.js";

testEverySaga("none", "P");
