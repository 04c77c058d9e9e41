// THE SAGAS OF THIS PACKAGE as a worker loads them: `rubicon worker --sagas dist/sagas/index.js`. They speak to the outside
// server at OUTSIDE_URL, and without one to a fake in this process; money-transfer needs the table of `createAccounts`.

import { moneyTransfer } from "./money-transfer/index.js";
import { onboarding } from "./onboarding/index.js";
import { orderFulfilment } from "./order-fulfilment/index.js";
import { OutsideWorld } from "./outside.js";
import { outsideAt } from "./outside-server.js";
import { tripBooking } from "./trip-booking/index.js";

const url = process.env.OUTSIDE_URL;
const outside = url === undefined ? new OutsideWorld() : outsideAt(url);

export const sagas = [orderFulfilment(outside), tripBooking(outside), onboarding(outside), moneyTransfer()];
