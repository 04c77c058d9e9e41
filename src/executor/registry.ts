// WHICH SAGAS THIS EXECUTOR KNOWS. Two different sagas under one name and version are refused; the same object twice is
// fine (design 1.9).

import { isSaga } from "../definition/made-by.js";
import type { SagaDefinition } from "../definition/saga.js";
import { shapeDifference, shapeText } from "../definition/shape.js";
import { UsageError } from "../errors/usage-errors.js";

export class Registry {
  readonly #sagas = new Map<string, SagaDefinition>();

  /** @throws UsageError `saga.duplicate`, `executor.unsupported` */
  constructor(sagas: readonly SagaDefinition[], options: { readonly transactions: boolean }) {
    for (const saga of sagas.flatMap(withChildren)) {
      const present = this.#sagas.get(keyOf(saga));
      if (present !== undefined && present !== saga)
        throw new UsageError(
          "saga.duplicate",
          `two different sagas are registered as "${saga.name}" version ${saga.version}; give one another name or version`,
        );
      const transactional = saga.steps.find((step) => (step.each?.step ?? step).transaction);
      if (transactional !== undefined && !options.transactions)
        throw new UsageError(
          "executor.unsupported",
          `step "${transactional.name}" of saga "${saga.name}" is transactional, which needs a database: use durableExecutor`,
        );
      this.#sagas.set(keyOf(saga), saga);
    }
  }

  get all(): readonly SagaDefinition[] {
    return [...this.#sagas.values()];
  }

  /** The registered saga. @throws UsageError `saga.unknown` */
  require(saga: SagaDefinition): SagaDefinition {
    if (!isSaga(saga))
      throw new UsageError("saga.unknown", "what is to be started is no saga; make one with defineSaga");
    const present = this.#sagas.get(keyOf(saga));
    if (present === saga) return saga;
    const known = this.all.map((each) => `"${each.name}" version ${each.version}`).join(", ") || "none";
    throw new UsageError(
      "saga.unknown",
      present === undefined
        ? `saga "${saga.name}" version ${saga.version} is not registered with this executor (known: ${known}); pass it in \`sagas\``
        : `another saga is registered as "${saga.name}" version ${saga.version}; start that object, or give this one another version`,
    );
  }

  /** The saga that can drive a run, or the readable reasons why none can. */
  find(run: {
    readonly saga: string;
    readonly version: number;
    readonly shape: SagaDefinition["shape"];
  }): SagaDefinition | readonly string[] {
    const saga = this.#sagas.get(keyOf({ name: run.saga, version: run.version }));
    if (saga === undefined) {
      const versions = this.all.filter((each) => each.name === run.saga).map((each) => each.version);
      return versions.length === 0
        ? [`no saga "${run.saga}" is registered`]
        : [
            `saga "${run.saga}" is registered as version ${versions.join(", ")}, and the run is of version ${run.version}`,
          ];
    }
    return shapeText(saga.shape) === shapeText(run.shape) ? saga : shapeDifference(run.shape, saga.shape);
  }
}

/** A saga brings the sagas that its children run. */
function withChildren(saga: SagaDefinition): readonly SagaDefinition[] {
  return [saga, ...saga.steps.flatMap(({ child }) => (child === undefined ? [] : withChildren(child)))];
}

function keyOf(saga: { readonly name: string; readonly version: number }): string {
  return `${saga.name}\n${saga.version}`;
}
