// WHETHER THIS PROCESS MAY STILL DRIVE ITS RUNS: its registration, its beats, its lock (design 3.3). The lease is the
// worker's, however many runs it has. It stops by itself before anybody can have taken them.

import type { Logger } from "../definition/saga.js";
import { StoreError } from "../errors/store-errors.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import type { Database } from "../store/db.js";
import { KeptConnection } from "../store/kept-connection.js";
import { oneTry, type Runner } from "../store/sql.js";
import { beatWorker, holdWorkerLock, type OwnedRun, registerWorker, retireWorker } from "../store/workers.js";
import { Loop } from "./loop.js";

export interface LeaseOptions {
  readonly database: Database;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly host: string;
  readonly pid: number;
  /** JSON: what this worker can run. */
  readonly registered: string;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  /** Whether the worker's connection hears notifications too, and what then is heard. */
  readonly listen: boolean;
  readonly onNotification: (payload: string) => void;
  /** Each accepted beat: all runs that the table says are this worker's. */
  readonly onBeat: (owned: readonly OwnedRun[]) => void;
  /** Everything in hand is, or may be, another worker's by now. */
  readonly onLost: () => void;
  /** A beat came this late: something keeps the event loop busy. */
  readonly onLag: (lagMs: number) => void;
}

/** How long before the lease runs out the attempts are aborted, as a share of the lease. */
const margin = 0.1;
/** How long a lock may be held by an own connection that is gone, while the server answers. */
const relockWithinMs = 500;

export class Lease {
  readonly #options: LeaseOptions;
  readonly #beats: Loop;
  /** Carries the lock, beats, pings and LISTEN. None behind a transaction pooler. */
  readonly #session: KeptConnection | undefined;
  #id = "";
  /** Monotonic: from when on beats have been accepted without a gap. */
  #steadySince = 0;
  /** Monotonic: until when the last accepted beat holds. */
  #heldUntil = 0;
  #beatenAt = 0;
  #locked = false;
  #lockLostAt: number | undefined;
  #closed = false;
  #cancelExpiry = () => {};
  #waiting: (() => void)[] = [];

  constructor(options: LeaseOptions) {
    this.#options = options;
    const { database, beatMs, clock, chance, logger, listen, onNotification, leaseMs } = options;
    this.#beats = new Loop({ name: "beat", everyMs: beatMs, turn: () => this.#beat(), clock, chance, logger });
    this.#session = database.pooled
      ? undefined
      : new KeptConnection({
          database,
          listen,
          onNotification,
          onOpen: (session) => this.#takeLock(session),
          onLost: (error) => this.#unlock(error),
          answerMs: Math.min(5_000, leaseMs / 3),
          clock,
          chance,
        });
  }

  /** The worker's present id. Another one after it was declared dead. */
  get id(): string {
    return this.#id;
  }

  /** Whether runs may be taken and bodies begun. */
  get firm(): boolean {
    return !this.#closed && this.#locked && this.#options.clock.monotonic() < this.#heldUntil;
  }

  /** For how many milliseconds beats have been accepted without a gap: a takeover counts as a crash only then (1.6). */
  get steadyMs(): number {
    return this.firm ? this.#options.clock.monotonic() - this.#steadySince : 0;
  }

  /** Whether notifications are heard. */
  get listening(): boolean {
    return this.#options.listen && this.#session?.open === true;
  }

  get ticks(): Readonly<Record<string, number | undefined>> {
    return { beat: this.#beats.lastTickAt };
  }

  /** Registers, then beats until closed. @throws StoreError when the database can't be used at all */
  async start(): Promise<void> {
    await this.#register();
    // Behind a transaction pooler there is no session to hold a lock on: the lease alone tells.
    if (this.#session === undefined) this.#locked = true;
    else await this.#session.start();
    this.#beats.start();
    while (!this.firm && !this.#closed) await this.mayStart();
  }

  /** Resolves once bodies may be begun, or once everything in hand was lost. */
  mayStart(): Promise<void> {
    if (this.firm || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Beats go on while attempts are given their grace; no body is begun any more by who asks `firm`. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelExpiry();
    this.#release();
    await this.#beats.stop();
    const { database } = this.#options;
    // CRASH: without this, runs that are left wait until the lock is seen to be free, or the lease to run out.
    await retireWorker(oneTry(database), this.#id, database.nowOverride()).catch(() => {});
    await this.#session?.close();
  }

  async #register(): Promise<void> {
    const { database, host, pid, registered, leaseMs, clock } = this.#options;
    const sentAt = clock.monotonic();
    this.#id = await registerWorker(database, { host, pid, registered, leaseMs, now: database.nowOverride() });
    this.#steadySince = clock.monotonic();
    this.#renew(sentAt);
  }

  async #beat(): Promise<void> {
    const { database, leaseMs, clock } = this.#options;
    const worker = this.#id;
    const sentAt = clock.monotonic();
    // Sleeps are jittered by a quarter; what is far beyond that is an event loop that was kept busy.
    const lagMs = sentAt - this.#beatenAt - 1.25 * this.#options.beatMs;
    if (this.#beatenAt > 0 && lagMs > Math.max(250, this.#options.beatMs)) this.#options.onLag(Math.round(lagMs));
    this.#beatenAt = sentAt;
    const mark = database.clock.mark();
    const beat = await beatWorker(this.#session?.open ? this.#session : oneTry(database), {
      worker,
      leaseMs,
      now: database.nowOverride(),
    });
    if (beat === undefined) return this.#startAnew("it was declared dead");
    database.clock.observe(beat.at, mark);
    this.#renew(sentAt);
    this.#options.onBeat(beat.owned);
  }

  /** Measured from when the beat was sent: the database can only have stamped it later. */
  #renew(sentAt: number): void {
    const { clock, leaseMs } = this.#options;
    const now = clock.monotonic();
    if (now >= this.#heldUntil) this.#steadySince = now;
    this.#heldUntil = sentAt + leaseMs * (1 - margin);
    this.#cancelExpiry();
    this.#cancelExpiry = clock.after(Math.max(0, this.#heldUntil - now), () => this.#expire());
    if (this.firm) this.#release();
  }

  #expire(): void {
    // An event loop that was blocked may run this late, with an accepted beat just behind it.
    if (this.#closed || this.#options.clock.monotonic() < this.#heldUntil) return;
    this.#options.logger.error(
      { worker: this.#id },
      "the lease could not be renewed in time: all attempts are aborted as lost",
    );
    this.#loseAll();
  }

  /** A throw closes the connection; it is opened again soon. */
  async #takeLock(session: Runner): Promise<void> {
    const { clock } = this.#options;
    const held = await holdWorkerLock(session, this.#id);
    if (held === "held") {
      this.#lockLostAt = undefined;
      this.#locked = true;
      // Read that the worker was not declared dead, and what it has, before anything is begun.
      this.#beats.wake();
      if (this.firm) this.#release();
      return;
    }
    // Busy: the backend of the connection that was lost still has it, and the server answers.
    this.#lockLostAt ??= clock.monotonic();
    const late = clock.monotonic() - this.#lockLostAt > relockWithinMs;
    if (held === "lost" || late)
      await this.#startAnew(held === "lost" ? "it was declared dead" : "its lock could not be had again");
    throw new StoreError("store.unavailable", "the worker's lock is not to be had yet");
  }

  #unlock(error: unknown): void {
    this.#locked = false;
    this.#lockLostAt ??= this.#options.clock.monotonic();
    this.#options.logger.warn(
      { err: error, worker: this.#id },
      "the worker's connection was lost; no body is begun until its lock is held again",
    );
  }

  async #startAnew(why: string): Promise<void> {
    const before = this.#id;
    if (this.#closed) return;
    this.#loseAll();
    await this.#register();
    this.#lockLostAt = undefined;
    if (this.#session !== undefined) {
      this.#locked = false;
      // The lock of the old id goes with the connection that holds it.
      this.#session.reopen();
    }
    this.#options.logger.warn({ worker: this.#id, before }, `the worker goes on under a new id: ${why}`);
  }

  #loseAll(): void {
    this.#options.onLost();
    this.#release();
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
