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
export type Behaviour = (call: OutsideCall, earlier: readonly OutsideCall[]) => void | { status: number; body?: unknown } | Promise<void | { status: number; body?: unknown }>;

export class OutsideServer implements AsyncDisposable {
  readonly calls: OutsideCall[] = [];
  /** Keys whose effect is there: a second call of one key has no second effect. */
  readonly effects = new Map<string, OutsideCall>();
  behave: Behaviour = () => {};
  #server!: Server;

  static async start(): Promise<OutsideServer> {
    const outside = new OutsideServer();
    outside.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", async () => {
        const call: OutsideCall = { ...JSON.parse(Buffer.concat(chunks).toString()), at: Date.now() };
        const earlier = [...outside.calls];
        outside.calls.push(call);
        if (!outside.effects.has(call.key)) outside.effects.set(call.key, call);
        const answer = (await outside.behave(call, earlier)) ?? { status: 200 };
        if (response.destroyed) return;
        response.writeHead(answer.status, { "content-type": "application/json", connection: "close" });
        response.end(JSON.stringify(answer.body ?? { pid: call.pid, n: outside.calls.length }));
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
    return this.calls.filter((call) => call.step === step && call.direction === direction && (runId === undefined || call.runId === runId));
  }

  /** The calls of a run in order, as `S1` and `C1`. */
  order(runId: string): string[] {
    return this.calls.filter((call) => call.runId === runId).map((call) => (call.direction === "forward" ? call.step : call.step.replace(/^S/, "C")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
