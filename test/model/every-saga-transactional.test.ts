// Sagas whose pivot commits with its entry.

import { testEverySaga } from "./every-saga.js";

testEverySaga("Pt");
