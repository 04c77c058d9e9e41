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
import { inTime } from "./in-time.js";
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
  /** The lock is held, and notifications are heard, from now on: what was missed before is to be looked for. */
  readonly onHeld: () => void;
  /** Everything in hand is, or may be, another worker's by now. */
  readonly onLost: () => void;
  /** A beat came this late: something kept the event loop busy. */
  readonly onLag: (lagMs: number) => void;
}

/** How long before the lease runs out the attempts are aborted, as a share of the lease. */
const margin = 0.1;
/** Beats that the database stamped further apart than this share of the lease were not made throughout. */
const widestGap = 0.5;
/** How long a lock may be held by an own connection that is gone, while the server answers. */
const relockWithinMs = 500;
/** Between two beats while the lock is not held: a beat clears the suspicion that a free lock brings. */
const unlockedBeatMs = 150;
const startWithinMs = 30_000;
const closeWithinMs = 2_000;

export class Lease {
  readonly #options: LeaseOptions;
  readonly #beats: Loop;
  /** Carries the lock, beats, pings and LISTEN. None behind a transaction pooler. */
  readonly #session: KeptConnection | undefined;
  readonly #answerMs: number;
  #id = "";
  /** Monotonic: from when on lock and beats have been had without a break; undefined during one. */
  #steadySince: number | undefined;
  #everBroken = false;
  /** Monotonic: until when the last accepted beat holds. */
  #heldUntil = 0;
  /** The database's stamp of the last accepted beat. */
  #beatAt: number | undefined;
  #locked = false;
  #lockLostAt: number | undefined;
  #renaming = false;
  #winding = false;
  #closed = false;
  #cancelExpiry = () => {};
  #waiting: (() => void)[] = [];

  constructor(options: LeaseOptions) {
    this.#options = options;
    const { database, beatMs, clock, chance, logger, listen, onNotification, leaseMs } = options;
    this.#answerMs = Math.min(5_000, leaseMs / 3);
    const turn = (lateMs: number) => this.#beat(lateMs);
    this.#beats = new Loop({ name: "beat", everyMs: beatMs, turn, clock, chance, logger });
    this.#session = database.pooled
      ? undefined
      : new KeptConnection({
          database,
          listen,
          onNotification,
          onOpen: (session) => this.#takeLock(session),
          onLost: (error) => this.#unlock(error),
          answerMs: this.#answerMs,
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
    return !this.#winding && this.#holds;
  }

  get #holds(): boolean {
    return !this.#closed && this.#locked && this.#options.clock.monotonic() < this.#heldUntil;
  }

  /** For how many milliseconds lock and beats have been had without a break. */
  get steadyMs(): number {
    return this.#steadySince === undefined ? 0 : this.#options.clock.monotonic() - this.#steadySince;
  }

  /** There was no break since the process began: nothing hints at trouble on this side. */
  get unbroken(): boolean {
    return !this.#everBroken;
  }

  /** Whether notifications are heard. */
  get listening(): boolean {
    return this.#options.listen && this.#session?.open === true;
  }

  get ticks(): Readonly<Record<string, number | undefined>> {
    return { beat: this.#beats.lastTickAt };
  }

  /** Registers, then beats until closed. @throws StoreError when the database can't be used within 30 s */
  async start(): Promise<void> {
    const { database, clock } = this.#options;
    this.#goBy(await this.#register(database));
    await this.#session?.start();
    this.#beats.start();
    let late = false;
    const cancel = clock.after(startWithinMs, () => {
      late = true;
      this.#release();
    });
    while (!this.#holds && !this.#closed && !late) await this.mayStart();
    cancel();
    if (!this.#holds) throw new StoreError("store.unavailable", "the worker could not take its lock within 30 s");
  }

  /** Resolves once bodies may be begun; also once everything in hand was lost, or no body is begun any more. */
  mayStart(): Promise<void> {
    if (this.#holds || this.#winding || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** No run is taken and no body begun any more; beats go on while attempts are given their grace. */
  wind(): void {
    this.#winding = true;
    this.#release();
  }

  async close(): Promise<void> {
    const { database, clock } = this.#options;
    this.#closed = true;
    this.#cancelExpiry();
    this.#release();
    await this.#beats.stop();
    await inTime(this.#session?.close() ?? Promise.resolve(), { clock, ms: closeWithinMs }).catch(() => {});
    if (this.#id === "") return;
    // CRASH: without this, runs that are left wait until the lock is seen to be free, or the lease to run out.
    const retired = retireWorker(oneTry(database), this.#id, database.nowOverride());
    await inTime(retired, { clock, ms: closeWithinMs }).catch(() => {});
  }

  async #register(runner: Runner): Promise<{ readonly id: string; readonly sentAt: number }> {
    const { database, host, pid, registered, leaseMs, clock } = this.#options;
    const sentAt = clock.monotonic();
    const id = await registerWorker(runner, { host, pid, registered, leaseMs, now: database.nowOverride() });
    return { id, sentAt };
  }

  #goBy({ id, sentAt }: { readonly id: string; readonly sentAt: number }): void {
    this.#id = id;
    this.#beatAt = undefined;
    this.#lockLostAt = undefined;
    // Behind a transaction pooler there is no session to hold a lock on: the lease alone tells.
    this.#locked = this.#session === undefined;
    this.#renew(sentAt);
  }

  async #beat(lateMs: number): Promise<number | void> {
    const { database, leaseMs, beatMs, clock, onLag, onBeat } = this.#options;
    if (lateMs > Math.max(250, beatMs)) onLag(Math.round(lateMs));
    const worker = this.#id;
    const sentAt = clock.monotonic();
    const mark = database.clock.mark();
    const runner = this.#session?.open ? this.#session : oneTry(database);
    const answer = beatWorker(runner, { worker, leaseMs, now: database.nowOverride() });
    const beat = await inTime(answer, { clock, ms: this.#answerMs }).catch((error: unknown) => {
      this.#break();
      throw error;
    });
    // An answer to the id that the worker had before tells nothing of the present one.
    if (worker !== this.#id || this.#closed) return;
    if (beat === undefined) return this.#startAnew(worker, "it was declared dead");
    // By the database's stamps: where the whole machine stood still, its own clocks did too.
    if (this.#beatAt !== undefined && beat.at - this.#beatAt > leaseMs * widestGap) this.#break();
    this.#beatAt = beat.at;
    database.clock.observe(beat.at, mark);
    this.#renew(sentAt);
    onBeat(beat.owned);
    return this.#locked ? undefined : Math.min(unlockedBeatMs, beatMs);
  }

  /** Measured from when the beat was sent: the database can only have stamped it later. */
  #renew(sentAt: number): void {
    if (this.#closed) return;
    const { clock, leaseMs } = this.#options;
    const now = clock.monotonic();
    if (now >= this.#heldUntil) this.#break();
    this.#heldUntil = sentAt + leaseMs * (1 - margin);
    this.#armExpiry();
    this.#settle();
  }

  #settle(): void {
    if (!this.#holds) return;
    this.#steadySince ??= this.#options.clock.monotonic();
    this.#release();
  }

  #break(): void {
    // Before the worker first held its lock there was nothing to break.
    if (this.#steadySince === undefined) return;
    this.#steadySince = undefined;
    this.#everBroken = true;
  }

  #armExpiry(): void {
    const { clock } = this.#options;
    this.#cancelExpiry();
    this.#cancelExpiry = clock.after(Math.max(0, this.#heldUntil - clock.monotonic()), () => this.#expire());
  }

  #expire(): void {
    if (this.#closed) return;
    // An event loop that was blocked runs this late, with an accepted beat just behind it; and timers may be a little early.
    if (this.#options.clock.monotonic() < this.#heldUntil) {
      this.#armExpiry();
      return;
    }
    this.#options.logger.error(
      { worker: this.#id },
      "the lease could not be renewed in time: all attempts are aborted as lost",
    );
    this.#break();
    this.#loseAll();
  }

  /** A throw closes the connection; it is opened again soon. */
  async #takeLock(session: Runner): Promise<void> {
    const { clock, onHeld } = this.#options;
    const worker = this.#id;
    const held = await holdWorkerLock(session, worker);
    if (worker !== this.#id || this.#closed)
      throw new StoreError("store.unavailable", "the worker goes by another id by now, or is closed");
    if (held === "held") {
      // The same statement read that the worker was not declared dead.
      this.#lockLostAt = undefined;
      this.#locked = true;
      this.#settle();
      // What it has, and what others wrote meanwhile, is in the answer to its next beat.
      this.#beats.wake();
      onHeld();
      return;
    }
    // Busy: the backend of the connection that was lost still has it, and the server answers.
    this.#lockLostAt ??= clock.monotonic();
    const late = clock.monotonic() - this.#lockLostAt > relockWithinMs;
    if (held === "lost") await this.#startAnew(worker, "it was declared dead");
    else if (late) await this.#startAnew(worker, "its lock could not be had again");
    throw new StoreError("store.unavailable", "the worker's lock is not to be had yet");
  }

  #unlock(error: unknown): void {
    if (!this.#locked) return;
    this.#locked = false;
    this.#break();
    this.#lockLostAt ??= this.#options.clock.monotonic();
    this.#options.logger.warn(
      { err: error, worker: this.#id },
      "the worker's connection was lost; no body is begun until its lock is held again",
    );
    this.#beats.wake();
  }

  /** `worker` is the id that is over. CRASH: a new row without a beat dies by itself. */
  async #startAnew(worker: string, why: string): Promise<void> {
    if (this.#closed || this.#renaming || worker !== this.#id) return;
    this.#renaming = true;
    try {
      // Nothing is taken under an id that is over.
      this.#heldUntil = 0;
      this.#break();
      this.#loseAll();
      const { database, clock } = this.#options;
      this.#goBy(await inTime(this.#register(oneTry(database)), { clock }));
      // The lock of the old id goes with the connection that holds it; its runs may be taken from now on.
      this.#session?.reopen();
      void retireWorker(oneTry(database), worker, database.nowOverride()).catch(() => {});
      this.#options.logger.warn({ worker: this.#id, before: worker }, `the worker goes on under a new id: ${why}`);
    } finally {
      this.#renaming = false;
    }
  }

  #loseAll(): void {
    this.#options.onLost();
    this.#release();
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
