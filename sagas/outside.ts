// THE WORLD OUTSIDE, as these sagas need it: calls with an idempotency key, a lookup by key, and a tombstone under one. A real
// adapter would speak to a bank or a warehouse; `OutsideWorld` is a fake that keeps the same promises and counts calls.

/** What an outside call gives back. */
export interface Receipt {
  readonly id: string;
}

export interface OutsideRequest {
  readonly key: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface Outside {
  /** Does `action` once per key. A second call with that key gets the first one's answer, a refusal included. */
  call(action: string, request: OutsideRequest): Promise<Receipt>;
  /** What was done under `key`; undefined when nothing was, up to now. */
  find(key: string): Promise<Receipt | undefined>;
  /**
   * Takes back what was done under `key`, if anything was, and leaves a tombstone: a call that arrives later under that key
   * is refused with 410. Harmless to repeat.
   */
  revoke(key: string): Promise<void>;
  /** What was done under `key`; if nothing was, a tombstone, so that nothing will be any more. One move on their side. */
  settle(key: string): Promise<Receipt | undefined>;
}

/**
 * The other side's refusal. `status` is what `classifyError` reads: 402, 410 and 422 say "it did not happen, and trying again
 * won't help".
 */
export class OutsideError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "OutsideError";
    this.status = status;
  }
}

/** A call that arrived at the fake. */
export interface OutsideCall {
  readonly kind: "call" | "find" | "revoke" | "settle";
  readonly action: string;
  readonly runId: string;
  readonly key: string;
}

/** What a script does to one call: throw to refuse it, wait to hold it. */
export interface Interference {
  /** Before it arrives: wait to delay it; throw an `OutsideError` to refuse it, which is recorded under the key; throw anything else to lose it. */
  readonly before?: () => void | Promise<void>;
  /** After it took effect: what is thrown, or held, loses or delays only the answer. */
  readonly after?: () => void | Promise<void>;
}

type Recorded =
  | { readonly kind: "done"; readonly action: string; readonly receipt: Receipt }
  | { readonly kind: "refused"; readonly error: OutsideError }
  | { readonly kind: "tombstone" };

/** The fake, in memory. Keys are those of rubicon-saga: `runId/step`. */
export class OutsideWorld implements Outside {
  readonly calls: OutsideCall[] = [];
  readonly #records = new Map<string, Recorded>();
  readonly #scripts = new Map<string, Interference>();
  #receipts = 0;

  async call(action: string, { key }: OutsideRequest): Promise<Receipt> {
    this.#note("call", action, key);
    const script = this.#take(action, key);
    const receipt = await this.#once(action, key, script);
    await script?.after?.();
    return receipt;
  }

  async find(key: string): Promise<Receipt | undefined> {
    this.#note("find", stepOf(key), key);
    return this.#done(key);
  }

  async revoke(key: string): Promise<void> {
    this.#note("revoke", stepOf(key), key);
    await this.#take(`revoke ${stepOf(key)}`, key)?.before?.();
    this.#records.set(key, { kind: "tombstone" });
  }

  async settle(key: string): Promise<Receipt | undefined> {
    this.#note("settle", stepOf(key), key);
    const receipt = this.#done(key);
    if (receipt === undefined) this.#records.set(key, { kind: "tombstone" });
    return receipt;
  }

  /** Interferes with the next call of `action` for a run; `revoke <step>` is an action too. */
  next(action: string, runId: string, interference: Interference): void {
    this.#scripts.set(`${runId}/${action}`, interference);
  }

  /** Holds the answer of the next such call, after it took effect. `arrived` resolves when it is held. */
  hold(action: string, runId: string): { readonly arrived: Promise<void>; readonly release: () => void } {
    const arrived = promise();
    const released = promise();
    this.next(action, runId, {
      after: () => {
        arrived.resolve();
        return released.done;
      },
    });
    return { arrived: arrived.done, release: released.resolve };
  }

  /** Refuses the next such call: it does not happen. */
  refuse(action: string, runId: string, reason: string, status = 422): void {
    this.next(action, runId, {
      before: () => {
        throw new OutsideError(status, reason);
      },
    });
  }

  /** How often a call (or another verb) arrived for a step of a run. */
  count(step: string, runId: string, kind: OutsideCall["kind"] = "call"): number {
    return this.calls.filter((call) => call.action === step && call.runId === runId && call.kind === kind).length;
  }

  /** The steps of a run whose effect stands now, in the order in which they took effect. */
  standing(runId: string): string[] {
    return [...this.#records].flatMap(([key, record]) =>
      record.kind === "done" && runOf(key) === runId ? [record.action] : [],
    );
  }

  async #once(action: string, key: string, script: Interference | undefined): Promise<Receipt> {
    try {
      // On its way: what happens under the key meanwhile counts.
      await script?.before?.();
    } catch (error) {
      const refused = error instanceof OutsideError && error.status < 500 && !this.#records.has(key);
      if (refused) this.#records.set(key, { kind: "refused", error });
      throw error;
    }
    const known = this.#records.get(key);
    if (known?.kind === "done") return known.receipt;
    if (known?.kind === "refused") throw known.error;
    if (known?.kind === "tombstone") throw new OutsideError(410, `${action} was revoked before it arrived`);
    this.#receipts += 1;
    const receipt = { id: `${action}-${this.#receipts}` };
    this.#records.set(key, { kind: "done", action, receipt });
    return receipt;
  }

  #done(key: string): Receipt | undefined {
    const record = this.#records.get(key);
    return record?.kind === "done" ? record.receipt : undefined;
  }

  #note(kind: OutsideCall["kind"], action: string, key: string): void {
    this.calls.push({ kind, action, runId: runOf(key), key });
  }

  #take(action: string, key: string): Interference | undefined {
    const name = `${runOf(key)}/${action}`;
    const script = this.#scripts.get(name);
    this.#scripts.delete(name);
    return script;
  }
}

function runOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

function stepOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function promise(): { readonly done: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void;
  const done = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { done, resolve };
}
