// THE PROGRAM of a worker process of the demo: an ordinary worker, which ends with the process that started it.

import { orderFulfilment } from "../../../sagas/order-fulfilment/index.js";
import { outsideAt } from "../../../sagas/outside-server.js";
import { durableExecutor } from "../../index.js";
import type { ActorOptions } from "./troupe.js";

const { database, schema, outside }: ActorOptions = JSON.parse(process.env.RUBICON_DEMO_ACTOR ?? "{}");

// Also when the demo is killed: a worker that outlives it would take up the runs of the next one.
process.once("disconnect", () => process.exit());

await durableExecutor({ sagas: [orderFulfilment(outsideAt(outside))], database, schema });
process.send?.("ready");
