// TIME, as a value that tests can set. The only reader of the process's clocks.

export interface Clock {
  /** Wall-clock milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds: for durations, never compared with another process. */
  monotonic(): number;
  /** Calls back once after `ms` (from 0; larger than 2^31-1 works). Returns a way to call it off. */
  after(ms: number, callback: () => void): () => void;
}

/** Node replaces a longer timer by 1 ms; so longer waits are made of several. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const endsAt = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = () => {
      const left = endsAt - performance.now();
      timer = left > longestTimerMs ? setTimeout(arm, longestTimerMs) : setTimeout(callback, Math.max(0, left));
    };
    arm();
    return () => clearTimeout(timer);
  },
};
