// CALLS BESIDE EACH OTHER: `d.all` waits for all of them, and when one fails, gives the others up first (design 2.3).

import { UsageError } from "../errors/usage-errors.js";
import { quiet, type RunningFunction } from "./running-function.js";
import { isSuspension } from "./suspension.js";

type Members = readonly unknown[] | Readonly<Record<string, unknown>>;

export function all(running: RunningFunction, calls: Members): Promise<unknown> {
  const settled = quiet(settleAll(running, calls));
  running.together(settled, Object.values(calls ?? {}));
  return settled;
}

async function settleAll(running: RunningFunction, calls: Members): Promise<unknown> {
  if (typeof calls !== "object" || calls === null)
    throw new UsageError("function.call_refused", "d.all takes a list of promises, or an object of them");
  const members: readonly unknown[] = Object.values(calls);
  let first: { readonly error: unknown } | undefined;
  const failed = (error: unknown) => {
    if (first !== undefined || isSuspension(error)) return;
    first = { error };
    running.giveUp(members, running.failedCall(error));
  };
  for (const member of members) Promise.resolve(member).catch(failed);
  const settled = await Promise.allSettled(members);
  const suspended = settled.find((each) => each.status === "rejected" && isSuspension(each.reason));
  if (suspended?.status === "rejected") throw suspended.reason;
  if (first !== undefined) throw first.error;
  const values = settled.map((each) => (each as PromiseFulfilledResult<unknown>).value);
  if (Array.isArray(calls)) return values;
  return Object.fromEntries(Object.keys(calls).map((key, index) => [key, values[index]]));
}
