// AN ATTEMPT ON A CLOCK THAT STANDS STILL, and a body that settles when it is told to.

import { type AttemptEnd, type AttemptOptions, startAttempt } from "../../../src/executor/attempt.js";
import { ManualClock } from "../../support/manual-clock.js";
import { gate } from "../../support/until.js";

/** Started; its end as soon as there is one. */
export function attempt(options: Partial<AttemptOptions> = {}) {
  const clock = new ManualClock();
  const misuses: string[] = [];
  const running = startAttempt({
    step: "S1",
    timeoutMs: 1_000,
    graceMs: 100,
    clock,
    body: () => "value",
    onMisuse: (error) => void misuses.push(error.code),
    ...options,
  });
  let end: AttemptEnd | undefined;
  void running.end.then((ended) => {
    end = ended;
  });
  return { clock, misuses, running, ended: () => end };
}

/** A body that settles when it is told to, and remembers its signal. */
export function held() {
  const { promise, open, fail } = gate<unknown>();
  const signals: AbortSignal[] = [];
  const body = (signal: AbortSignal) => {
    signals.push(signal);
    return promise;
  };
  return { body, open, fail, signals };
}
