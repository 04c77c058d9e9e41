// ANOTHER SAGA AS ONE ELEMENT: a run of its own, whose outcome is the element's.

import type { InputOf, OutputOf, Saga } from "./define-saga.js";
import { elementDefaults, readKeyedName, readRequired } from "./element.js";
import { isSaga, markStep } from "./made-by.js";
import { shownValue } from "./option-faults.js";
import { OptionReader } from "./option-reader.js";
import type { SagaDefinition, StepDefinition } from "./saga.js";
import type { Step } from "./typed-step.js";

/** What {@link child} takes. */
export interface ChildOptions<Name extends string, Context, Other extends Saga> {
  /** By the rules of a step's name. What the other saga gives goes under this key of the context. */
  readonly name: Name;
  /** Made by `defineSaga`. One with a pivot can't be undone, so it stands after this saga's own pivot only. */
  readonly saga: Other;
  /** The other saga's input, as a caller would pass it: a pure function of the context. */
  readonly input: (context: Context) => InputOf<NoInfer<Other>>;
}

/**
 * Runs another saga, and gives `{ [name]: its output }`. Where this saga can still turn back, so can the child: its own
 * compensations undo it, and there is nothing to say of it here.
 *
 * @example
 * child({ name: "invoice", saga: sendInvoice, input: (order: { orderId: string }) => ({ orderId: order.orderId }) })
 */
export function child<const Name extends string, Context, Other extends Saga>(
  options: ChildOptions<Name, Context, Other>,
): Step<Name, Context, { [K in Name]: OutputOf<Other> }, "nothingToUndo", "child" | "keyed"> {
  const read = new OptionReader(options, "child()", ["name", "saga", "input"]);
  const keyed = readKeyedName(read);
  const run = readRequired(read, "input", "the function that gives the other saga's input");
  return markStep(
    { ...elementDefaults, ...keyed, element: "child", nothingToUndo: true, run, ...readSaga(read) },
    read.faults,
  ) as never;
}

function readSaga(read: OptionReader): Pick<StepDefinition, "child"> {
  const given = read.value("saga");
  if (isSaga(given)) return { child: given satisfies SagaDefinition };
  read.refuse(
    "saga",
    given === undefined ? "is missing: the saga to run" : `${shownValue(given)} was not made by defineSaga()`,
  );
  return {};
}
