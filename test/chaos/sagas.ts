// What the chaos run runs: sagas whose every body calls the outside server under its key, and money that moves in SQL.

import { defineSaga, pivot, step } from "rubicon-saga";
import { moneyTransfer } from "../../sagas/money-transfer/index.js";
import { sagas as crashSagas } from "../crash/sagas.js";

const quick = { firstDelay: 20, maxDelay: 500 } as const;

/** The pivot's call may be lost; `reconcile` asks for it by its key, and voids the key when it is not there. */
function asksWhetherItHappened(outside: string) {
  const post = async (path: string, body: object, signal: AbortSignal) => {
    const response = await fetch(outside + path, { method: "POST", body: JSON.stringify(body), signal });
    if (!response.ok) throw Object.assign(new Error(`${response.status}`), { status: response.status });
    return (await response.json()) as { happened?: boolean };
  };
  const call = (
    name: string,
    direction: "forward" | "compensate",
    tools: { runId: string; key: string; attempt: number; signal: AbortSignal },
  ) =>
    post(
      "",
      { runId: tools.runId, step: name, direction, key: tools.key, attempt: tools.attempt, pid: process.pid },
      tools.signal,
    );
  return defineSaga({
    name: "asked",
    version: 1,
    steps: [
      step({
        name: "S1",
        run: async (_context: object, tools) => void (await call("S1", "forward", tools)),
        compensate: async (_context, undo) => void (await call("S1", "compensate", undo)),
        retry: quick,
        compensationRetry: quick,
        timeout: 2_000,
        grace: 200,
      }),
      pivot({
        name: "P",
        run: async (_context: object, tools) => void (await call("P", "forward", tools)),
        reconcile: async (_context: object, { key, signal }) => {
          const { happened } = await post("/find-or-void", { key }, signal);
          return happened === true ? { happened: true, output: undefined } : { happened: false };
        },
        retry: quick,
        timeout: 2_000,
        grace: 200,
      }),
    ],
  });
}

export function sagas(outside: string) {
  return [...crashSagas(outside), asksWhetherItHappened(outside), moneyTransfer()] as const;
}
