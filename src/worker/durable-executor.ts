// SAGAS THAT SURVIVE: the seam on Postgres. Opens the database, checks that its schema is there, and puts a worker, or none,
// behind the same verbs as in process (design 2.2, 3).

import type { RunState } from "../core/state.js";
import type { SagaDefinition } from "../definition/saga.js";
import { type Shape, shapeDifference, shapeText } from "../definition/shape.js";
import { isSagaError } from "../errors/saga-error.js";
import { StoreError } from "../errors/store-errors.js";
import { Children } from "../executor/children.js";
import type { SagaExecutor, StartOptions } from "../executor/executor.js";
import { type Availability, type ExecutorHooks, JournalExecutor } from "../executor/journal-executor.js";
import { policyOptions } from "../executor/options.js";
import { Registry } from "../executor/registry.js";
import { Waiters } from "../executor/waiting.js";
import { Values } from "../journal/codec.js";
import type { RunHeader, RunStart } from "../journal/journal.js";
import { PgJournal } from "../journal/pg-journal.js";
import type { Clock } from "../platform/clock.js";
import { type Database, openDatabase } from "../store/db.js";
import { embeddedDirectory, ensureEmbedded } from "../store/embedded.js";
import { KeptConnection } from "../store/kept-connection.js";
import { migrate, takesWrites, verifySchema } from "../store/migrate.js";
import { Announcer, type Notice, readPayload } from "../store/notify.js";
import { endedAmong, presentAmong } from "../store/runs.js";
import { oneTry } from "../store/sql.js";
import { liveWorkers } from "../store/workers.js";
import { Arrivals } from "./arrivals.js";
import { inTime } from "./in-time.js";
import { Loop } from "./loop.js";
import { type DurableOptions, parseDurableOptions } from "./options.js";
import { transactionsOn } from "./transactions.js";
import { Worker, type WorkerHealth } from "./worker.js";

/** A durable executor also tells how its worker is doing. */
export interface DurableExecutor extends SagaExecutor {
  /** Undefined for a client (`worker: false`). */
  readonly health: WorkerHealth | undefined;
}

/**
 * Runs sagas on Postgres: what was journaled survives the process, and any worker goes on with it.
 *
 * @throws OptionsInvalidError, UsageError `saga.duplicate`; StoreError `store.unavailable`, `store.forbidden`,
 * `schema.missing`, `schema.incomplete`, `schema.too_new`
 */
export async function durableExecutor(options: DurableOptions): Promise<DurableExecutor> {
  const parsed = parseDurableOptions(options);
  const { clock } = parsed.platform;
  const registry = new Registry(parsed.sagas, { transactions: true });
  const directory = typeof parsed.database === "string" ? embeddedDirectory(parsed.database) : undefined;
  const database = openDatabase({
    database: directory === undefined ? parsed.database : await ensureEmbedded(directory),
    schema: parsed.schema,
    pooled: parsed.pooled,
    logger: parsed.logger,
    clock,
    ...(directory === undefined ? {} : { ensureServer: async () => void (await ensureEmbedded(directory)) }),
  });
  const executor = new DurableHooks({ parsed, database, registry });
  try {
    const migrates = parsed.migrate ?? directory !== undefined;
    await reach(database, { withinMs: parsed.connectWithin, writes: migrates || parsed.worker !== false, clock });
    if (migrates) await migrate(database);
    await verifySchema(database);
    await executor.start();
  } catch (error) {
    await executor.close(0).catch(() => {});
    throw error;
  }
  return executor.asExecutor();
}

/**
 * A database that is on its way up, or about to take writes again, is waited for; one that is not there is told of while
 * somebody still watches.
 */
async function reach(
  database: Database,
  { withinMs, writes, clock }: { readonly withinMs: number; readonly writes: boolean; readonly clock: Clock },
): Promise<void> {
  const answer = database.retry(
    async () => {
      if ((await takesWrites(oneTry(database))) || !writes) return;
      throw Object.assign(new Error("the database is read-only"), { code: "25006" });
    },
    { patienceMs: withinMs },
  );
  try {
    // A try that has begun may end with what is wrong, which tells more.
    await inTime(answer, { clock, ms: withinMs + 2_000 });
  } catch (error) {
    if (!isSagaError(error, "store.unavailable")) throw error;
    throw new StoreError("store.unavailable", `no database could be reached within ${withinMs} ms: ${error.message}`, {
      cause: error,
    });
  }
}

type Parsed = ReturnType<typeof parseDurableOptions>;

interface DurableParts {
  readonly parsed: Parsed;
  readonly database: Database;
  readonly registry: Registry;
}

/** Between two looks for ends that no notification told of. */
const lookForEndsMs = 1_000;

class DurableHooks implements ExecutorHooks {
  readonly #parts: DurableParts;
  readonly #journal: PgJournal;
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
        sagas: parts.registry.all,
        policies: policyOptions({ ...parsed, maxCrashes: parsed.worker.maxCrashes }),
        options: parsed.worker,
        driving: {
          journal: this.#journal,
          transactions: transactionsOn(database),
          clock,
          chance,
          logger,
          policies: policyOptions({ ...parsed, maxCrashes: parsed.worker.maxCrashes }),
          performTools: { clock, logger, encode, decode, ...(classifyError === undefined ? {} : { classifyError }) },
          children: new Children({
            // The journal itself announces what others must hear of.
            operating: { journal: this.#journal, nonce: () => chance.id(), written: () => {} },
            values: this.#values,
            begin: (start) => this.#journal.start(start),
          }),
        },
        listen: onDatabase,
        onNotification,
        onHeard: () => this.#ends.wake(),
        onEnded: (runId) => this.#waiters.wake(runId),
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
    await this.#worker?.start();
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

  /** The journal itself announces what others must hear of. */
  written(_header: RunHeader, _state: RunState): void {}

  async availability(): Promise<Availability> {
    const { database } = this.#parts;
    const workers = await liveWorkers(database, database.nowOverride());
    const registered = workers.flatMap(({ registered: text }) => readRegistered(text));
    return (run) => (workers.length === 0 ? [] : reasons(run, registered));
  }

  noteOf(runId: string): unknown {
    return this.#worker?.noteOf(runId);
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
      case "ended":
        this.#waiters.wake(notice.runId);
        return;
      case "poked":
        if (notice.worker === this.#worker?.id) this.#worker.poke(notice.key);
    }
  }

  #catchUp(): void {
    this.#worker?.wake();
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

interface Registered {
  readonly saga: string;
  readonly version: number;
  readonly shape: Shape;
}

/** What a worker said that it can run; what another version said in other words is passed over. */
function readRegistered(text: string): readonly Registered[] {
  try {
    const said: readonly Registered[] = JSON.parse(text);
    return said.filter((each) => shapeText(each.shape) !== "");
  } catch {
    return [];
  }
}

/** Why none of the registered sagas is the run's; empty when one is. */
function reasons(run: Registered, registered: readonly Registered[]): readonly string[] {
  const named = registered.filter((each) => each.saga === run.saga);
  const versioned = named.filter((each) => each.version === run.version);
  if (versioned.some((each) => shapeText(each.shape) === shapeText(run.shape))) return [];
  if (named.length === 0) return [`no live worker has saga "${run.saga}"`];
  if (versioned.length === 0) {
    const versions = [...new Set(named.map((each) => each.version))].sort((a, b) => a - b);
    return [
      `live workers have saga "${run.saga}" as version ${versions.join(", ")}, and the run is of version ${run.version}`,
    ];
  }
  return shapeDifference(run.shape, versioned[0]!.shape);
}
