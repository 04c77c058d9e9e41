// A WAIT FOR A SIGNAL: an element that goes on when somebody sends one to the run, or when its time is up. It holds no
// worker meanwhile.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "./duration.js";
import { elementDefaults, readKeyedName } from "./element.js";
import { markStep } from "./made-by.js";
import { nameFault } from "./names.js";
import { shownValue } from "./option-faults.js";
import { OptionReader } from "./option-reader.js";
import type { SignalWait } from "./saga.js";
import type { Step } from "./typed-step.js";

/** What a wait gives: the signal, or, where it has a deadline that does not fail the saga, that there was none in time. */
export type Waited<Schema, Within, OnTimeout> =
  | { readonly received: true; readonly payload: PayloadOf<Schema> }
  | ([Within] extends [undefined] ? never : [OnTimeout] extends ["fail"] ? never : { readonly received: false });

type PayloadOf<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : unknown;

/** What {@link waitForSignal} takes. */
export interface SignalOptions<Name extends string, Schema, Within, OnTimeout> {
  /** By the rules of a step's name. What comes of the wait goes under this key of the context. */
  readonly name: Name;
  /** Parses what was sent with the signal; one that it refuses is not received. Default: it is taken as it is. */
  readonly payload?: Schema;
  /** How long to wait, from the moment when the wait begins. More than zero. Default: without limit. */
  readonly within?: Within | undefined;
  /** No signal in time: `give` gives `{ received: false }`; `fail` fails the element, for good. Default `give`. */
  readonly onTimeout?: [Within] extends [undefined]
    ? `signal '${Name}': onTimeout has no use without within`
    : OnTimeout | undefined;
  /** The name under which the signal is sent. Default: `name`. Two waits on one signal have two names and one `signal`. */
  readonly signal?: string | undefined;
}

/**
 * Waits for a signal, and gives `{ [name]: { received: true, payload } | { received: false } }`. One that was sent before
 * the wait began counts. Under `named(wait, "other", { into: "other" })` it waits for the same signal.
 *
 * @example
 * waitForSignal({ name: "approval", payload: z.object({ by: z.string() }), within: "48h" })
 */
export function waitForSignal<
  const Name extends string,
  Schema extends StandardSchemaV1 | undefined = undefined,
  Within extends Duration | undefined = undefined,
  const OnTimeout extends "give" | "fail" | undefined = undefined,
>(
  options: SignalOptions<Name, Schema, Within, OnTimeout>,
): Step<Name, unknown, { [K in Name]: Waited<Schema, Within, OnTimeout> }, "nothingToUndo", "signal" | "keyed"> {
  const read = new OptionReader(options, "waitForSignal()", ["name", "payload", "within", "onTimeout", "signal"]);
  const keyed = readKeyedName(read);
  const wait = readWait(read, keyed.name);
  return markStep(
    { ...elementDefaults, ...keyed, element: "signal", nothingToUndo: true, wait, run: () => undefined },
    read.faults,
  ) as never;
}

function readWait(read: OptionReader, name: string): SignalWait {
  const signal = read.value("signal") === undefined ? name : read.name("signal", read.value("signal"), nameFault);
  const payload = read.schema("payload");
  const withinMs = read.duration("within", { positive: true });
  return Object.freeze({
    signal,
    ...(payload === undefined ? {} : { payload }),
    ...(withinMs === undefined ? {} : { withinMs }),
    onTimeout: readOnTimeout(read),
  });
}

function readOnTimeout(read: OptionReader): SignalWait["onTimeout"] {
  const given = read.value("onTimeout");
  if (given === undefined) return "give";
  if (read.value("within") === undefined) read.refuse("onTimeout", "has no use without `within`; leave it out");
  if (given === "give" || given === "fail") return given;
  read.refuse("onTimeout", `${shownValue(given)} is not "give" or "fail"`);
  return "give";
}
