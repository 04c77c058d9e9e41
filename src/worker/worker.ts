// A WORKER: takes runs up, keeps them, takes over from the dead, and goes away in good order (design 3.3, 2.2).

import { hostname } from "node:os";
import type { Entry } from "../core/entry.js";
import { foldRows } from "../core/fold.js";
import { initialState } from "../core/state.js";
import type { Logger, SagaDefinition } from "../definition/saga.js";
import type { Driving } from "../executor/drive.js";
import { type PolicyOptions, policiesOf } from "../executor/policies-of.js";
import type { ScheduleBook } from "../executor/schedule-book.js";
import type { RunHeader, RunStart } from "../journal/journal.js";
import type { PgJournal } from "../journal/pg-journal.js";
import type { Clock } from "../platform/clock.js";
import type { Chance } from "../platform/ids.js";
import type { Database } from "../store/db.js";
import { forgetDeadWorkers, type OwnedRun } from "../store/workers.js";
import { Claiming } from "./claiming.js";
import { Firing, lookEveryMs as lookForSchedulesEveryMs } from "./firing.js";
import { inTime } from "./in-time.js";
import { Lease } from "./lease.js";
import { Loop } from "./loop.js";
import type { DrivingOptions } from "./options.js";
import { lookEveryMs, Recovering } from "./recovering.js";
import { Slots } from "./slots.js";

export interface WorkerParts {
  readonly database: Database;
  readonly journal: PgJournal;
  readonly schedules: ScheduleBook;
  readonly sagas: readonly SagaDefinition[];
  readonly policies: PolicyOptions;
  readonly options: DrivingOptions;
  readonly driving: Omit<Driving, "onAbandoned" | "worker" | "mayStart" | "stopping">;
  readonly listen: boolean;
  readonly onNotification: (payload: string) => void;
  /** Notifications are heard from now on: what was missed is to be looked for. */
  readonly onHeard: () => void;
  /** A run that this worker drove has ended. */
  readonly onEnded: (header: RunHeader) => void;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
}

/** How a worker is doing, for health checks. */
export interface WorkerHealth {
  readonly worker: string;
  /** Whether it may take runs and begin bodies: its lease is good and its lock is held. */
  readonly firm: boolean;
  /** Whether notifications are heard; otherwise polling finds what they would have told. */
  readonly listening: boolean;
  readonly slots: { readonly used: number; readonly free: number };
  /** Bodies that outlived their grace and still go on. */
  readonly abandoned: readonly { readonly runId: string; readonly step: string }[];
  /** When each loop last got through a turn. */
  readonly ticks: Readonly<Record<string, Date | undefined>>;
}

const forgetEveryMs = 60_000;
/** Before a run is looked at again that is this worker's and could not be taken up. */
const adoptAgainMs = 5_000;
/** After the last body's grace: for what is still to be written, while the database answers. */
const closeWithinMs = 5_000;

export class Worker {
  readonly #parts: WorkerParts;
  readonly #slots: Slots;
  readonly #lease: Lease;
  readonly #claiming: Claiming;
  readonly #recovering: Recovering;
  readonly #loops: readonly Loop[];
  readonly #claims: Loop;
  readonly #firings: Loop;
  /** By token: the pokes that its drive was told of. */
  #pokes = new Map<string, number>();
  #strays = new Set<string>();
  /** Runs by token that could not be taken up, and until when (monotonic) they are left alone. */
  readonly #unadoptable = new Map<string, { readonly againAt: number }>();
  #stopping = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const { database, journal, sagas, policies, options, clock, chance, logger, listen, onNotification } = parts;
    this.#lease = new Lease({
      database,
      leaseMs: options.leaseMs,
      beatMs: options.beatMs,
      host: hostname(),
      pid: process.pid,
      registered: JSON.stringify(
        sagas.map(({ name, version, shape }) => ({ saga: name, version, shape, tenants: options.tenants })),
      ),
      listen,
      onNotification,
      onBeat: (owned) => this.#onBeat(owned),
      onHeld: () => {
        this.#claims.wake();
        parts.onHeard();
      },
      onLost: () => this.#slots.abortAll("lost"),
      onLag: (lagMs) =>
        logger.warn(
          { lagMs, steps: this.#slots.underWay },
          "the event loop was kept busy, and a beat came late; a longer lease, or work off this thread, keeps the runs here",
        ),
      clock,
      chance,
      logger,
    });
    this.#slots = new Slots(
      {
        slots: options.slots,
        logger,
        onFree: (header, state) => {
          if (state.finished !== undefined) parts.onEnded(header);
          this.#slotFree();
        },
        onRelease: () => this.#slotFree(),
      },
      {
        ...parts.driving,
        worker: () => this.#lease.id,
        mayStart: () => this.#lease.mayStart(),
        stopping: () => this.#stopping,
      },
    );
    const { lease, slots } = { lease: this.#lease, slots: this.#slots };
    this.#claiming = new Claiming({
      database,
      journal,
      sagas,
      policies,
      pollMs: options.pollMs,
      tenants: options.tenants,
      lease,
      slots,
      clock,
      chance,
      logger,
    });
    this.#recovering = new Recovering({
      database,
      journal,
      claiming: this.#claiming,
      lease,
      slots,
      leaseMs: options.leaseMs,
      clock,
      chance,
      logger,
    });
    const loop = (name: string, everyMs: number, turn: () => Promise<number | void>) =>
      new Loop({ name, everyMs, turn, clock, chance, logger });
    this.#claims = loop("claim", options.pollMs, () => this.#claiming.turn());
    const firing = new Firing({ database, book: parts.schedules, clock, chance, logger });
    this.#firings = loop("schedules", lookForSchedulesEveryMs, () => firing.turn());
    this.#loops = [
      this.#claims,
      this.#firings,
      loop("recovery", Math.min(lookEveryMs, options.leaseMs / 3), () => this.#recovering.turn()),
      loop("forget", forgetEveryMs, async () => void (await forgetDeadWorkers(database, database.nowOverride()))),
    ];
  }

  get id(): string {
    return this.#lease.id;
  }

  async start(): Promise<void> {
    await this.#lease.start();
    for (const loop of this.#loops) loop.start();
  }

  /** Some run may be due. */
  wake(): void {
    this.#claims.wake();
  }

  /** Some schedule may fire sooner than was known. */
  wakeSchedules(): void {
    this.#firings.wake();
  }

  poke(key: string): void {
    this.#slots.poke([key]);
  }

  noteOf(key: string): unknown {
    return this.#slots.noteOf(key);
  }

  /** Starts a run in a free slot here and now; undefined when there is none, or it is not due yet. */
  async startHere(saga: SagaDefinition, start: RunStart): Promise<{ header: RunHeader; created: boolean } | undefined> {
    const { journal, policies, chance } = this.#parts;
    // What shares places takes its turn.
    if (start.lane !== undefined) return undefined;
    const due = start.startAt === undefined || start.startAt <= journal.now();
    if (!due || this.#stopping || !this.#lease.firm || !this.#claiming.serves(journal.tenant)) return undefined;
    const places = this.#slots.reserve(1);
    try {
      if (places.count === 0) return undefined;
      const token = chance.id();
      places.expect(token);
      const entry: Entry = { kind: "taken_up", worker: this.#lease.id, token, crash: false };
      const { header, created, row } = await journal.start(start, { entry, nonce: chance.id() });
      if (row !== undefined) {
        const state = foldRows(header.shape, initialState(header.shape, header.startAt), [row]);
        this.#slots.take({ saga, header, state, token, policies: policiesOf(saga, policies, header.startAt) });
      }
      return { header, created };
    } finally {
      places.release();
    }
  }

  get health(): WorkerHealth {
    const ticks = {
      ...this.#lease.ticks,
      ...Object.fromEntries(this.#loops.map((loop) => [loop.name, loop.lastTickAt])),
    };
    return {
      worker: this.#lease.id,
      firm: this.#lease.firm,
      listening: this.#lease.listening,
      slots: { used: this.#slots.used, free: this.#slots.free },
      abandoned: this.#slots.abandoned,
      ticks: Object.fromEntries(
        Object.entries(ticks).map(([name, at]) => [name, at === undefined ? undefined : new Date(at)]),
      ),
    };
  }

  /**
   * Takes no more, lets attempts finish within the grace, aborts the others, waits for what settles, hands over the rest.
   * Bounded, whatever the database does: false when something had to be left. CRASH: that is taken over like a dead worker's.
   */
  async close(graceMs: number): Promise<boolean> {
    const { clock, logger } = this.#parts;
    this.#stopping = true;
    this.#lease.wind();
    const cancel = clock.after(graceMs, () => this.#slots.abortAll("shutdown"));
    // What begins no more can't be longer in the way than what has begun: steps of a list, its items, a function's calls.
    const { longestGraceMs } = this.#slots;
    this.#slots.pokeAll();
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    let clean = true;
    try {
      await inTime(this.#slots.empty(), { clock, ms: graceMs + longestGraceMs + closeWithinMs });
    } catch {
      clean = false;
      logger.error(
        { runs: this.#slots.giveUp() },
        "the worker closes without having given these runs back; they are taken over like a dead worker's",
      );
    }
    cancel();
    await this.#lease.close();
    return clean;
  }

  #slotFree(): void {
    if (this.#claiming.wantsSlot) this.#claims.wake();
  }

  #onBeat(owned: readonly OwnedRun[]): void {
    const strays = new Set<string>();
    const pokes = new Map<string, number>();
    for (const run of owned) {
      if (this.#slots.has(run.key)) {
        pokes.set(run.token, run.pokes);
        if (run.pokes > (this.#pokes.get(run.token) ?? 0)) this.#slots.poke([run.key]);
      } else if (!this.#slots.expects(run.token)) {
        // What nobody here knows of has to be seen twice: the answer may be older than the end of its drive.
        if (this.#slots.leftBehind(run.token) !== undefined || this.#strays.has(run.token)) this.#adopt(run);
        strays.add(run.token);
      }
    }
    this.#strays = strays;
    this.#pokes = pokes;
  }

  #adopt(run: OwnedRun): void {
    const { clock, logger } = this.#parts;
    const failed = this.#unadoptable.get(run.token);
    if (this.#stopping || (failed !== undefined && clock.monotonic() < failed.againAt)) return;
    this.#recovering.adopt(run).then(
      () => this.#unadoptable.delete(run.token),
      (error: unknown) => {
        // A journal that can't be read stays so until somebody mends it: one line, and a look now and then.
        if (failed === undefined)
          logger.warn({ err: error, runId: run.runId }, "a run of this worker could not be taken up");
        this.#unadoptable.set(run.token, { againAt: clock.monotonic() + adoptAgainMs });
      },
    );
  }
}
