// WHAT AN ELEMENT'S PURE FUNCTIONS GIVE: whether a step runs, how long a sleep lasts, the items of a list, a child's input;
// and what a schema makes of a signal (design 2.1). Computed once: what comes out is recorded.

import type { Compute } from "../core/action.js";
import type { StoredValue } from "../core/entry.js";
import type { Computed } from "../core/record-computed.js";
import { pendingSignal, unitOf } from "../core/units.js";
import { SignalInvalidError, UsageError } from "../errors/usage-errors.js";
import { type Body, contextFor, type Subject } from "./bodies.js";
import { childRunId } from "./run-id.js";
import { parseValue } from "./validate.js";

/** More items are better children of their own: each of them is an entry of this run's journal. */
const mostItems = 1_000;

interface Tools {
  readonly encode: (value: unknown) => StoredValue;
  readonly decode: (stored: StoredValue) => unknown;
}

/** Throws what the function throws, and UsageErrors for what it may not give. */
export async function compute(subject: Subject, body: Body, action: Compute, tools: Tools): Promise<Computed> {
  const { step } = body;
  if (action.what === "payload")
    return { kind: "computed", what: "payload", payload: await payloadOf(subject, body, tools) };
  const context = contextFor(subject, body, tools.decode, false);
  if (action.what === "when")
    return { kind: "computed", what: "when", holds: verdictOf(step.name, await step.when!(context)) };
  const value = await step.run(context, undefined);
  switch (action.what) {
    case "for":
      return { kind: "computed", what: "for", ms: millisOf(step.name, value) };
    case "over": {
      const items = itemsOf(step.name, value);
      const { concurrency } = step.each!;
      return { kind: "computed", what: "over", items: tools.encode(items), count: items.length, concurrency };
    }
    case "input":
      return { kind: "computed", what: "input", ...(await childOf(subject, body, value, tools)) };
  }
}

function verdictOf(step: string, verdict: unknown): boolean {
  if (typeof verdict === "boolean") return verdict;
  throw new UsageError(
    "element.invalid",
    `\`when\` of step "${step}" has to give true or false, not ${typeof verdict}`,
  );
}

function millisOf(step: string, ms: unknown): number {
  if (typeof ms === "number" && ms >= 0) return ms;
  throw new UsageError("element.invalid", `\`for\` of sleep "${step}" has to give a duration from zero on`);
}

function itemsOf(step: string, items: unknown): readonly unknown[] {
  if (!Array.isArray(items))
    throw new UsageError("element.invalid", `\`over\` of step "${step}" has to give a list, not ${typeof items}`);
  if (items.length <= mostItems) return items;
  throw new UsageError(
    "element.invalid",
    `\`over\` of step "${step}" gave ${items.length} items; at most ${mostItems} are allowed: give each batch a child of its own`,
  );
}

async function payloadOf({ saga, state }: Subject, { step }: Body, tools: Tools): Promise<StoredValue> {
  const unit = unitOf(saga.shape, state, step.name);
  const { payload } = pendingSignal(unit, state)!;
  const schema = step.wait!.payload;
  if (schema === undefined) return payload;
  const parsed = await parseValue(schema, tools.decode(payload));
  if (parsed.faults === undefined) return tools.encode(parsed.value);
  throw new SignalInvalidError(unit.signal!, parsed.faults);
}

async function childOf(
  { header, state }: Subject,
  { step }: Body,
  value: unknown,
  tools: Tools,
): Promise<{ readonly runId: string; readonly input: StoredValue }> {
  const saga = step.child!;
  const parsed = saga.input === undefined ? { value } : await parseValue(saga.input, value);
  if (parsed.faults !== undefined) {
    const faults = parsed.faults.map(({ at, fault }) => `${at}: ${fault}`).join("; ");
    throw new UsageError(
      "input.invalid",
      `the input of child "${step.name}" does not fit its saga's schema: ${faults}`,
    );
  }
  const runId = childRunId(header.runId, step.name, state.steps[step.name]!.earlierChildren);
  return { runId, input: tools.encode(parsed.value) };
}
