// A FAKE OUTSIDE WORLD that notes each call: counts in tests are taken here, never from the library's own journal.

import type { RunTools } from "rubicon-saga";

export interface Call {
  readonly runId: string;
  readonly step: string;
  readonly direction: "forward" | "compensate";
  readonly key: string;
  readonly attempt: number;
  readonly at: number;
}

export class Outside {
  readonly calls: Call[] = [];

  /** Notes a call of a forward body. */
  did(step: string, tools: Pick<RunTools, "runId" | "key" | "attempt">): void {
    this.#note(step, "forward", tools);
  }

  /** Notes a call of a compensation. */
  undid(step: string, tools: Pick<RunTools, "runId" | "key" | "attempt">): void {
    this.#note(step, "compensate", tools);
  }

  count(step: string, direction: "forward" | "compensate" = "forward", runId?: string): number {
    return this.calls.filter(
      (call) => call.step === step && call.direction === direction && (runId === undefined || call.runId === runId),
    ).length;
  }

  /** The calls in order, as `S1` and `C1`. */
  order(runId?: string): string[] {
    return this.calls
      .filter((call) => runId === undefined || call.runId === runId)
      .map((call) => (call.direction === "forward" ? call.step : call.step.replace(/^S/, "C")));
  }

  #note(
    step: string,
    direction: "forward" | "compensate",
    { runId, key, attempt }: Pick<RunTools, "runId" | "key" | "attempt">,
  ): void {
    this.calls.push({ runId, step, direction, key, attempt, at: Date.now() });
  }
}
