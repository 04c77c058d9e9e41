// AN OUTSIDE WORLD FOR OTHER PROCESSES: an HTTP server in the test's own process that notes each call, honours idempotency
// keys, and can be told to kill, hold or refuse its callers.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface OutsideCall {
  readonly runId: string;
  readonly step: string;
  readonly direction: "forward" | "compensate";
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
}

/** What becomes of a call once it is noted and its effect is there. */
export type Behaviour = (
  call: OutsideCall,
  earlier: readonly OutsideCall[],
) => void | { status: number; body?: unknown } | Promise<void | { status: number; body?: unknown }>;

export class OutsideServer implements AsyncDisposable {
  readonly calls: OutsideCall[] = [];
  /** Keys whose effect is there: a second call of one key has no second effect. */
  readonly effects = new Map<string, OutsideCall>();
  /** Keys under which nothing happens any more. */
  readonly voided = new Set<string>();
  behave: Behaviour = () => {};
  #server!: Server;

  static async start(): Promise<OutsideServer> {
    const outside = new OutsideServer();
    outside.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", async () => {
        const { status, body } = await outside.#answer(
          request.url ?? "/",
          JSON.parse(Buffer.concat(chunks).toString()),
        );
        if (response.destroyed) return;
        response.writeHead(status, { "content-type": "application/json", connection: "close" });
        response.end(JSON.stringify(body ?? {}));
      });
    });
    await new Promise<void>((resolve) => outside.#server.listen(0, "127.0.0.1", resolve));
    return outside;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  count(step: string, direction: "forward" | "compensate" = "forward", runId?: string): number {
    return this.of(step, direction, runId).length;
  }

  of(step: string, direction: "forward" | "compensate" = "forward", runId?: string): OutsideCall[] {
    return this.calls.filter(
      (call) => call.step === step && call.direction === direction && (runId === undefined || call.runId === runId),
    );
  }

  /** The calls of a run in order, as `S1` and `C1`. */
  order(runId: string): string[] {
    return this.calls
      .filter((call) => call.runId === runId)
      .map((call) => (call.direction === "forward" ? call.step : call.step.replace(/^S/, "C")));
  }

  async #answer(path: string, sent: Omit<OutsideCall, "at">): Promise<{ status: number; body?: unknown }> {
    if (path === "/find-or-void") return { status: 200, body: { happened: this.#findOrVoid(sent.key) } };
    const call: OutsideCall = { ...sent, at: Date.now() };
    const earlier = [...this.calls];
    this.calls.push(call);
    if (this.voided.has(call.key)) return { status: 422, body: "this key is void" };
    // An undo leaves a tombstone under the forward key: a late do is refused.
    if (call.direction === "compensate") this.voided.add(call.key.replace(/\/compensate$/, ""));
    const first = !this.effects.has(call.key);
    if (first) this.effects.set(call.key, call);
    const answer = (await this.behave(call, earlier)) ?? { status: 200 };
    // A refusal says that it did not happen, and is true.
    if (answer.status === 422 && first) this.effects.delete(call.key);
    return { body: { pid: call.pid, n: this.calls.length }, ...answer };
  }

  /** Whether the call of this key took effect; if not, it never will. */
  #findOrVoid(key: string): boolean {
    if (this.effects.has(key)) return true;
    this.voided.add(key);
    return false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
