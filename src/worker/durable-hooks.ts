// WHAT A DURABLE EXECUTOR IS MADE OF: the journal, the worker or none, who hears notifications, who looks for ends; opened
// and closed together (design 2.2, 3).

import type { RunState } from "../core/state.js";
import type { SagaDefinition } from "../definition/saga.js";
import { Children } from "../executor/children.js";
import type { SagaExecutor, StartOptions } from "../executor/executor.js";
import { type Availability, type ExecutorHooks, JournalExecutor } from "../executor/journal-executor.js";
import { policyOptions } from "../executor/options.js";
import type { Registry } from "../executor/registry.js";
import type { ReadSchedule } from "../executor/schedule-options.js";
import { putDeclared } from "../executor/scheduling.js";
import { Waiters } from "../executor/waiting.js";
import { Values } from "../journal/codec.js";
import type { Begun, CheckSame, RunHeader, RunStart } from "../journal/journal.js";
import { PgJournal } from "../journal/pg-journal.js";
import { type Database, openDatabase } from "../store/db.js";
import { KeptConnection } from "../store/kept-connection.js";
import { Announcer, type Notice, readPayload } from "../store/notify.js";
import { endedAmong, presentAmong } from "../store/runs.js";
import { oneTry } from "../store/sql.js";
import { liveWorkers } from "../store/workers.js";
import { Arrivals } from "./arrivals.js";
import { availabilityFor } from "./availability.js";
import { inTime } from "./in-time.js";
import { Loop } from "./loop.js";
import type { parseDurableOptions } from "./options.js";
import { PgScheduleBook } from "./pg-schedule-book.js";
import { transactionsOn } from "./transactions.js";
import { Worker, type WorkerHealth } from "./worker.js";

/** A durable executor also tells how its worker is doing. */
export interface DurableExecutor extends SagaExecutor {
  /** Undefined for a client (`worker: false`). */
  readonly health: WorkerHealth | undefined;
}

type Parsed = ReturnType<typeof parseDurableOptions>;

interface DurableParts {
  readonly parsed: Parsed;
  readonly database: Database;
  readonly registry: Registry;
  readonly schedules: readonly ReadSchedule[];
}

/** Between two looks for ends that no notification told of. */
const lookForEndsMs = 1_000;

export class DurableHooks implements ExecutorHooks {
  readonly #parts: DurableParts;
  readonly #journal: PgJournal;
  readonly #book: PgScheduleBook;
  readonly #announcer: Announcer;
  readonly #values: Values;
  readonly #waiters = new Waiters();
  readonly #worker: Worker | undefined;
  /** Hears notifications where no worker's connection does. */
  readonly #listener: KeptConnection | undefined;
  readonly #listenDatabase: Database | undefined;
  readonly #ends: Loop;
  readonly #arrivals: Arrivals;

  constructor(parts: DurableParts) {
    this.#parts = parts;
    const { parsed, database } = parts;
    const { logger, codec, maxValueBytes, classifyError, tenant } = parsed;
    const { clock, chance } = parsed.platform;
    this.#announcer = new Announcer(database, clock);
    this.#arrivals = new Arrivals({
      among: (keys) => presentAmong(oneTry(database), keys),
      onArrival: () => this.#announce({ kind: "ready" }),
      clock,
    });
    this.#journal = new PgJournal({ database, tenant, announce: (notice) => this.#announce(notice) });
    this.#book = new PgScheduleBook({ database, tenant, announce: (notice) => this.#announce(notice) });
    this.#values = new Values({ maxValueBytes, ...(codec === undefined ? {} : { codec }) });
    const { encode, decode } = this.#values;
    const onNotification = (payload: string) => {
      for (const notice of readPayload(payload)) this.#hear(notice);
    };
    const byItsOwnUrl = typeof parsed.listen === "string";
    // Behind a transaction pooler there is no session to hear on, unless it is given a URL past the pooler.
    const onDatabase = parsed.listen === undefined && !parsed.pooled;
    if (parsed.worker !== false)
      this.#worker = new Worker({
        database,
        journal: this.#journal,
        schedules: this.#book,
        sagas: parts.registry.all,
        policies: policyOptions({ ...parsed, maxCrashes: parsed.worker.maxCrashes }),
        options: parsed.worker,
        driving: {
          journal: this.#journal,
          transactions: transactionsOn(database, this.#journal),
          clock,
          chance,
          logger,
          policies: policyOptions({ ...parsed, maxCrashes: parsed.worker.maxCrashes }),
          performTools: { clock, logger, encode, decode, ...(classifyError === undefined ? {} : { classifyError }) },
          children: new Children({
            // The journal itself announces what others must hear of.
            operatingFor: ({ tenant = "" }) => ({
              journal: this.#journal.of(tenant),
              nonce: () => chance.id(),
              written: () => {},
            }),
            values: this.#values,
            begin: (start, { tenant = "" }) => this.#journal.of(tenant).start(start),
          }),
        },
        listen: onDatabase,
        onNotification,
        onHeard: () => this.#ends.wake(),
        onEnded: (header) => {
          this.#ended(header);
          this.#placeFree(header);
        },
        clock,
        chance,
        logger,
      });
    if (byItsOwnUrl)
      this.#listenDatabase = openDatabase({
        database: parsed.listen as string,
        schema: parsed.schema,
        logger,
        clock,
        maxConnections: 4,
      });
    if (byItsOwnUrl || (onDatabase && this.#worker === undefined))
      this.#listener = new KeptConnection({
        database: this.#listenDatabase ?? database,
        listen: true,
        onNotification,
        // What was said while nobody heard is looked for.
        onOpen: async () => this.#catchUp(),
        clock,
        chance,
      });
    this.#ends = new Loop({
      name: "ends",
      everyMs: lookForEndsMs,
      turn: () => this.#lookForEnds(),
      clock,
      chance,
      logger,
    });
  }

  asExecutor(): DurableExecutor {
    const { registry, parsed } = this.#parts;
    const { clock, chance } = parsed.platform;
    const executor = new JournalExecutor({
      journal: this.#journal,
      registry,
      values: this.#values,
      clock,
      chance,
      waiters: this.#waiters,
      hooks: this,
      // The worker's loops are stopped when it closes.
      schedules: { book: this.#book, declared: Promise.resolve(), close: async () => {} },
    });
    return Object.defineProperty(executor as JournalExecutor & { health: WorkerHealth | undefined }, "health", {
      get: () => this.health,
      enumerable: true,
    });
  }

  async start(): Promise<void> {
    if (this.#parts.parsed.pooled && this.#parts.parsed.listen === undefined)
      this.#parts.parsed.logger.warn(
        {},
        "behind a transaction pooler nothing is heard by LISTEN: polling finds what is due. Pass `listen` a URL past the pooler.",
      );
    void this.#listener?.start();
    this.#ends.start();
    if (this.#worker === undefined) return;
    await putDeclared(this.#parts.schedules, { book: this.#book, values: this.#values });
    await this.#worker.start();
  }

  async begin(
    start: RunStart,
    options: { readonly soon: boolean; readonly tx?: StartOptions["tx"] },
  ): Promise<{ header: RunHeader; created: boolean }> {
    if (options.tx !== undefined) return this.#beginIn(options.tx, start);
    const saga = this.#parts.registry.find(start);
    const here =
      options.soon && "steps" in saga ? await this.#worker?.startHere(saga as SagaDefinition, start) : undefined;
    return here ?? this.#journal.start(start);
  }

  async beginMany(
    starts: readonly RunStart[],
    { check, tx }: { readonly check: CheckSame; readonly tx?: StartOptions["tx"] },
  ): Promise<readonly Begun[]> {
    if (tx === undefined) return this.#journal.startMany(starts, check);
    const begun = await this.#journal.startManyIn(tx, starts, check);
    // One commit brings all of them.
    const first = begun.find(({ created }) => created);
    if (first !== undefined) this.#arrivals.expect(first.header.key);
    return begun;
  }

  async #beginIn(tx: NonNullable<StartOptions["tx"]>, start: RunStart) {
    const begun = await this.#journal.startIn(tx, start);
    // One that is for later, too: workers have to hear until when they may sleep.
    if (begun.created) this.#arrivals.expect(begun.header.key);
    return begun;
  }

  /** The end of a run in a caller's own process is told by its drive; anybody else's by notification, or by looking. */
  async watch(header: RunHeader): Promise<void> {
    await this.#journal.awaitEnd(header);
    this.#ends.wake();
  }

  /** The journal itself announces what others must hear of, but for places that are free again. */
  written(header: RunHeader, state: RunState): void {
    if (state.finished !== undefined) this.#placeFree(header);
  }

  #placeFree({ lane }: RunHeader): void {
    if (lane !== undefined) this.#announce({ kind: "ready" });
  }

  async availability(): Promise<Availability> {
    const { database } = this.#parts;
    const workers = await liveWorkers(database, database.nowOverride());
    return availabilityFor(
      workers.map(({ registered }) => registered),
      this.#parts.parsed.tenant,
    );
  }

  noteOf({ key }: RunHeader): unknown {
    return this.#worker?.noteOf(key);
  }

  async close(graceMs: number): Promise<void> {
    this.#arrivals.close();
    const clean = (await this.#worker?.close(graceMs)) ?? true;
    const withinMs = clean ? 10_000 : 1_000;
    const closings = [
      () => this.#ends.stop(),
      // What a worker had to leave unwritten need not be waited for again.
      () => this.#journal.close(clean ? undefined : 0),
      () => this.#announcer.settled(),
      () => this.#listener?.close(),
      () => this.#listenDatabase?.close(),
      () => this.#parts.database.close(),
    ];
    for (const close of closings) await this.#bounded(close(), withinMs);
  }

  /** A connection that was cut silently does not hold up the end of a process. */
  async #bounded(closing: Promise<void> | undefined, ms: number): Promise<void> {
    if (closing === undefined) return;
    const { logger, platform } = this.#parts.parsed;
    await inTime(closing, { clock: platform.clock, ms }).catch((error: unknown) =>
      logger.warn({ err: error }, "something of the executor could not be closed in good order"),
    );
  }

  get health(): WorkerHealth | undefined {
    const health = this.#worker?.health;
    return health && { ...health, listening: health.listening || this.#listener?.open === true };
  }

  #announce(notice: Notice): void {
    // One's own ears first: they need no database.
    this.#hear(notice);
    this.#announcer.announce(notice);
  }

  #hear(notice: Notice): void {
    switch (notice.kind) {
      case "ready":
        this.#worker?.wake();
        return;
      case "scheduled":
        this.#worker?.wakeSchedules();
        return;
      case "ended":
        this.#ended(notice);
        return;
      case "poked":
        if (notice.worker === this.#worker?.id) this.#worker.poke(notice.key);
    }
  }

  /** Who waits here waits for runs of this tenant. */
  #ended({ tenant = "", runId }: { readonly tenant?: string; readonly runId: string }): void {
    if (tenant === this.#parts.parsed.tenant) this.#waiters.wake(runId);
  }

  #catchUp(): void {
    this.#worker?.wake();
    this.#worker?.wakeSchedules();
    this.#ends.wake();
  }

  async #lookForEnds(): Promise<void> {
    const { database, parsed } = this.#parts;
    const waitedFor = this.#waiters.runIds;
    if (waitedFor.length === 0) return;
    const ended = await endedAmong(oneTry(database), parsed.tenant, waitedFor);
    for (const runId of ended) this.#waiters.wake(runId);
  }
}
