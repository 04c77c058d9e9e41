// HEARING OF A CALLER'S ABORT: one listener a signal, however many wait with it, and none when nobody does. Callers pass
// one signal to thousands of waits, and Node warns of a leak at the eleventh listener.

interface Listening {
  readonly calls: Set<() => void>;
  readonly stop: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/** Calls `call` once when `signal` aborts. Returns a way to call it off. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const { calls, stop } = listening.get(signal) ?? listen(signal);
  calls.add(call);
  return () => {
    calls.delete(call);
    if (calls.size === 0) stop();
  };
}

function listen(signal: AbortSignal): Listening {
  const calls = new Set<() => void>();
  const hear = () => {
    for (const call of [...calls]) call();
  };
  const stop = () => {
    signal.removeEventListener("abort", hear);
    if (listening.get(signal)?.calls === calls) listening.delete(signal);
  };
  const made = { calls, stop };
  signal.addEventListener("abort", hear, { once: true });
  listening.set(signal, made);
  return made;
}
