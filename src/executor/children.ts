// WHAT BECAME OF A CHILD, and what its parent does about it: starts its run where there is none yet, reads how it ended, and has
// it stopped or undone when the parent rolls back (design 1.3). The child's own journal decides about it.

import type { Direction } from "../core/entry.js";
import { endOf } from "../core/outcome.js";
import type { ChildLook } from "../core/policies.js";
import { decideRecall } from "../core/recall.js";
import type { Child } from "../core/state.js";
import type { SagaDefinition } from "../definition/saga.js";
import { recordError } from "../errors/error-record.js";
import { isSagaError } from "../errors/saga-error.js";
import { digestOf } from "../journal/canonical.js";
import type { Values } from "../journal/codec.js";
import type { RunHeader, RunStart } from "../journal/journal.js";
import { foldRun, type KnownRun, type Operating, write } from "./operating.js";
import { checkSameRun, laneOf, prepareStart } from "./starting.js";

export interface ChildParts {
  /** What a parent's verbs work with: a child is of its parent's tenant. */
  readonly operatingFor: (parent: RunHeader) => Operating;
  readonly values: Pick<Values, "encode" | "decode">;
  /** Records a run, unless it exists, and sees to it that it is driven. */
  readonly begin: (
    start: RunStart,
    parent: RunHeader,
  ) => Promise<{ readonly header: RunHeader; readonly created: boolean }>;
}

export class Children {
  readonly #parts: ChildParts;

  constructor(parts: ChildParts) {
    this.#parts = parts;
  }

  /**
   * Going forward the child is started, rolling back it is undone: both as often as one likes.
   * CRASH: between `child_started` and the child's first row a restart looks again, and starts the run of that very id. One
   * that never came to be is started all the same before it is stopped, or a late start could outlive its parent.
   */
  async look(parent: RunHeader, saga: SagaDefinition, child: Child, direction: Direction): Promise<ChildLook> {
    try {
      const run = await this.#started(parent, saga, child);
      const seen = direction === "forward" ? run : await this.#undone(run, parent);
      const end = endOf(seen.header.shape, seen.state);
      if (end === undefined) return { direction };
      const error = end.failure?.error ?? end.compensationErrors[0]?.error;
      const { status, output } = end;
      return {
        direction,
        ended: { status, ...(output === undefined ? {} : { output }), ...(error === undefined ? {} : { error }) },
      };
    } catch (error) {
      const neverCame = isSagaError(error, "run.conflict") || isSagaError(error, "input.invalid");
      if (!neverCame) throw error;
      // Somebody else's run has the id, or no place can be told for it: there is no child, and nothing of it to undo.
      return { direction, ended: { status: "failed", error: recordError(error) } };
    }
  }

  /**
   * Starts a run on its own, which nobody waits for or undoes: as often as one likes, it is the same one.
   * @throws InputInvalidError, RunConflictError (the id is another run's), UsageError `run.id_invalid`
   */
  async launch(parent: RunHeader, saga: SagaDefinition, input: unknown, runId: string): Promise<string> {
    const { begin, values } = this.#parts;
    const request = { id: runId, priority: parent.priority };
    const start = await prepareStart(saga, input, request, {
      encode: values.encode,
      decode: values.decode,
      freshId: () => runId,
    });
    const { header, created } = await begin(start, parent);
    if (!created) checkSameRun(start, header);
    return header.runId;
  }

  async #started(parent: RunHeader, saga: SagaDefinition, { runId, input }: Child): Promise<KnownRun> {
    const { begin, operatingFor, values } = this.#parts;
    const { journal } = operatingFor(parent);
    const loaded = await journal.load(runId);
    const start: RunStart = {
      runId,
      saga: saga.name,
      version: loaded?.header.version ?? saga.version,
      shape: loaded?.header.shape ?? saga.shape,
      input,
      inputDigest: digestOf(values.decode(input)),
      priority: parent.priority,
      parent: parent.key,
    };
    if (loaded !== undefined) {
      checkSameRun(start, loaded.header);
      return foldRun(loaded);
    }
    const lane = laneOf(saga, () => values.decode(input));
    const placed = lane === undefined ? start : { ...start, lane, places: saga.concurrency!.limit };
    const { header } = await begin(placed, parent);
    checkSameRun(start, header);
    return foldRun((await journal.load(runId))!);
  }

  async #undone(run: KnownRun, parent: RunHeader): Promise<KnownRun> {
    const operator = { by: `run ${parent.runId}`, reason: "its parent rolls back" };
    return write(this.#parts.operatingFor(parent), run, ({ header, state }) =>
      decideRecall(header.shape, state, operator),
    );
  }
}
