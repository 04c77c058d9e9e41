// AN ANSWER IN TIME, OR NONE. A connection that was cut silently says nothing for a quarter of an hour, and no loop of a
// worker may stand still for so long.

import { StoreError } from "../errors/store-errors.js";
import type { Clock } from "../platform/clock.js";

/** How long a worker's own statements may take before their answers count as lost, in milliseconds. */
const answerWithinMs = 10_000;

/**
 * Settles as `answer` does. What comes later is nobody's: what it wrote is found in the table.
 * @throws StoreError `store.unavailable` after `ms` without it
 */
export async function inTime<T>(
  answer: Promise<T>,
  { clock, ms = answerWithinMs }: { readonly clock: Clock; readonly ms?: number },
): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () =>
      reject(new StoreError("store.unavailable", `the database did not answer within ${ms} ms`)),
    );
  });
  // Whichever comes second is nobody's to handle.
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    cancel();
  }
}
