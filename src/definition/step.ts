// HOW STEPS ARE MADE: `step`, `pivot`, and `named` for a second use of one. What they return is frozen data; what is wrong
// with it is reported by `defineSaga`, all at once.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { GivenUnder } from "./context-types.js";
import { faultsOfParallel, faultsOfStep, madeByNobody, markStep } from "./made-by.js";
import { contextKeyFault, stepNameFault } from "./names.js";
import { shownValue } from "./option-faults.js";
import { OptionReader } from "./option-reader.js";
import { readStep } from "./read-step.js";
import type {
  Absent,
  GivenBy,
  IsAbsent,
  PivotOptions,
  StepNeeds,
  StepOptions,
  Undoing,
  UndoingBy,
} from "./step-options.js";
import type { Mark, Step } from "./typed-step.js";

/**
 * A step. It declares what it needs of the context as the type of `run`'s first parameter.
 *
 * @example
 * const reserveStock = step({
 *   name: "reserve-stock",
 *   run: async (order: { sku: string }, { key }) => ({ reservationId: await stock.reserve(order.sku, key) }),
 *   compensate: async (order, undo) =>
 *     undo.outcome === "done" ? stock.release(undo.output.reservationId) : stock.releaseMadeWith(undo.forwardKey),
 * });
 */
export function step<
  const Name extends string,
  Context,
  Returned,
  Undone = Absent,
  Nothing extends true | undefined = undefined,
  Transactional extends true | undefined = undefined,
  Schema extends StandardSchemaV1 | undefined = undefined,
  Asked = Context,
  Verdict extends boolean | Absent = Absent,
>(
  options: StepOptions<Name, Context, Returned, Undone, Nothing, Transactional, Schema, Asked, Verdict>,
): Step<
  Name,
  StepNeeds<Context, Asked, Verdict>,
  GivenBy<Returned, Schema>,
  UndoingBy<Undone, Nothing>,
  IsAbsent<Verdict> extends true ? never : "conditional"
> {
  return readStep(options, false) as never;
}

/**
 * The point of no return: the one step after which the saga only goes forward (1.1). Give it a `reconcile` where the
 * outside world can be asked: a pivot in doubt is never passed, nor rolled back, on a guess.
 */
export function pivot<
  const Name extends string,
  Context,
  Returned,
  Transactional extends true | undefined = undefined,
  Schema extends StandardSchemaV1 | undefined = undefined,
>(
  options: PivotOptions<Name, Context, Returned, Transactional, Schema>,
): Step<Name, Context, GivenBy<Returned, Schema>, "pivot"> {
  return readStep(options, true) as never;
}

/**
 * The same step, pivot or other element under another name, to be used a second time in one saga. With `into` its output
 * goes under that key of the context, whole, instead of being merged into it, or of going under the key that it had.
 *
 * @example named(sendMail, "billing-email", { into: "billing" })
 */
export function named<
  Needs,
  Given,
  U extends Undoing,
  const Name extends string,
  const Into extends string | undefined = undefined,
  Marks extends Mark = never,
>(
  original: Step<string, Needs, Given, U, Marks>,
  name: Name,
  options: { readonly into?: Into } = {},
): Step<Name, Needs, GivenUnder<Given, Into, Marks>, U, Into extends string ? Marks | "keyed" : Marks> {
  const read = new OptionReader(options, "named()", ["into"]);
  const newName = read.name("name", name, stepNameFault);
  const into = read.value("into") === undefined ? original?.into : read.name("into", options.into, contextKeyFault);
  const own = faultsOfStep(original);
  if (own === undefined)
    read.refuse(
      "step",
      faultsOfParallel(original) === undefined
        ? `${shownValue(original)} ${madeByNobody}`
        : "is a parallel, which has no name; name its members",
    );
  // An empty key comes of a name that broke the rules, and went into more than the name.
  const kept = (own ?? []).filter(({ at }) => at !== "name" || original.into === "");
  return markStep({ ...original, name: newName, ...(into === undefined ? {} : { into }) }, [
    ...kept,
    ...read.faults,
  ]) as never;
}
