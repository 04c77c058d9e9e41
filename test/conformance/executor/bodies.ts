// BODIES THAT FAIL, as the tests need them.

import { TerminalError } from "rubicon-saga";

/** A body that says: it did not happen, and trying again will not help. */
export function terminal(message = "no"): () => never {
  return () => {
    throw new TerminalError(message);
  };
}

/** A body that may or may not have happened. */
export function down(): never {
  throw new Error("connection lost");
}

/** A body of one run that throws the first `times` times that it is called. */
export function failingAtFirst(times: number): () => void {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= times) throw new Error("not yet");
  };
}
