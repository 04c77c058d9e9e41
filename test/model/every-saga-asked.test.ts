// Sagas whose pivot can be asked about.

import { testEverySaga } from "./every-saga.js";

testEverySaga("P?");
