// WHAT PROCESSES TELL EACH OTHER: hints by NOTIFY, gathered, in small transactions of their own after the commit of what
// they tell of. Inside it, the lock that NOTIFY takes at commit would serialise all committers (design 3.2).

import { type Clock, systemClock } from "../platform/clock.js";
import { sha256 } from "../platform/digest.js";
import type { Database } from "./db.js";
import type { Statement } from "./sql.js";

/** What others may want to hear of, once it is committed. Hints: whoever misses one finds out by looking. */
export type Notice =
  /** Some run may be claimed now. */
  | { readonly kind: "ready" }
  /** Some schedule may fire sooner than it was known to. */
  | { readonly kind: "scheduled" }
  /** A run ended for which somebody waits. */
  | { readonly kind: "ended"; readonly tenant: string; readonly runId: string }
  /** Somebody wrote to a run that `worker` drives. `key`: its internal id. */
  | { readonly kind: "poked"; readonly key: string; readonly worker: string };

/** Postgres refuses a payload of 8,000 bytes. */
const longestPayload = 7_500;
const gatherMs = 5;

/** Of a schema's notifications; two schemas of one database don't hear each other. */
export function channelOf(schemaName: string): string {
  return `rubicon_${sha256(schemaName).slice(0, 24)}`;
}

/** [ready, ended [tenant, run id], poked [key, worker], scheduled]; the last one only where it is 1. */
type Wire = readonly [0 | 1, readonly (readonly [string, string])[], readonly (readonly [string, string])[], 1?];

/** Payloads for these notices, each under the limit. */
export function payloadsOf(notices: readonly Notice[]): readonly string[] {
  const payloads: string[] = [];
  let ready: 0 | 1 = 0;
  let scheduled: [1?] = [];
  let ended: [string, string][] = [];
  let poked: [string, string][] = [];
  let size = 0;
  const cut = () => {
    if (ready === 1 || ended.length > 0 || poked.length > 0 || scheduled.length > 0)
      payloads.push(JSON.stringify([ready, ended, poked, ...scheduled] satisfies Wire));
    [ready, ended, poked, scheduled, size] = [0, [], [], [], 0];
  };
  for (const notice of new Map(notices.map((each) => [JSON.stringify(each), each])).values()) {
    const cost = Buffer.byteLength(JSON.stringify(notice));
    if (size + cost > longestPayload) cut();
    size += cost;
    if (notice.kind === "ready") ready = 1;
    else if (notice.kind === "scheduled") scheduled = [1];
    else if (notice.kind === "ended") ended.push([notice.tenant, notice.runId]);
    else poked.push([notice.key, notice.worker]);
  }
  cut();
  return payloads;
}

/** The notices of a payload; none for what another version wrote and this one can't read. */
export function readPayload(payload: string): readonly Notice[] {
  try {
    const [ready, ended, poked, scheduled] = JSON.parse(payload) as Wire;
    return [
      ...(ready === 1 ? [{ kind: "ready" } as const] : []),
      ...(scheduled === 1 ? [{ kind: "scheduled" } as const] : []),
      ...ended.map(([tenant, runId]) => ({ kind: "ended", tenant, runId }) as const),
      ...poked.map(([key, worker]) => ({ kind: "poked", key, worker }) as const),
    ];
  } catch {
    return [];
  }
}

const notify: Statement = () => "select pg_notify($1::text, p)::text as sent from unnest($2::text[]) p";

/** Sends notices, at most one statement per 5 ms; what fails is dropped, for looking finds it. */
export class Announcer {
  readonly #database: Database;
  readonly #clock: Clock;
  #gathered: Notice[] = [];
  #sending: Promise<void> | undefined;

  constructor(database: Database, clock: Clock = systemClock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Call it after the commit. */
  announce(notice: Notice): void {
    this.#gathered.push(notice);
    this.#sending ??= this.#send();
  }

  /** Resolves when what was announced so far is out, or dropped. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#gathered.length > 0) {
      const payloads = payloadsOf(this.#gathered.splice(0));
      const channel = channelOf(this.#database.schemaName);
      await this.#database.once(notify, [channel, payloads]).catch(() => []);
      await new Promise<void>((resolve) => this.#clock.after(gatherMs, resolve));
    }
    this.#sending = undefined;
  }
}
