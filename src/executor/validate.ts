// VALUES AGAINST SCHEMAS: any Standard Schema, synchronous or not. A schema parses once, when a value is recorded, and must
// accept its own output, for that is what is checked when the value is read (design 1.9).

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { recordError } from "../errors/error-record.js";
import type { Fault } from "../errors/usage-errors.js";

/** The parsed value, or what is wrong with it: `faults` is undefined exactly when the schema accepts it. */
export type Parsed =
  | { readonly value: unknown; readonly faults?: undefined }
  | { readonly value?: undefined; readonly faults: readonly Fault[] };

/** Told of one value; more are counted. */
const mostFaults = 50;

/**
 * Parses a value that is about to be recorded. What comes back is what to store: defaults filled in, transformed. A schema
 * that would refuse it on reading is a fault here, while the value can still be refused. Never throws.
 */
export async function parseValue(schema: StandardSchemaV1, value: unknown): Promise<Parsed> {
  const parsed = await parseOnce(schema, value);
  if (parsed.faults !== undefined) return parsed;
  const again = await checkValue(schema, parsed.value);
  if (again.length === 0) return parsed;
  return {
    faults: again.map(({ at, fault }) => ({ at, fault: `the schema does not accept its own output: ${fault}` })),
  };
}

/**
 * Checks a value that was recorded: the faults that its schema finds in it now, after a deploy perhaps. The value itself
 * stays as it was stored; what the schema would make of it is dropped. Never throws.
 */
export async function checkValue(schema: StandardSchemaV1, value: unknown): Promise<readonly Fault[]> {
  return (await parseOnce(schema, value)).faults ?? [];
}

async function parseOnce(schema: StandardSchemaV1, value: unknown): Promise<Parsed> {
  try {
    const result = await schema["~standard"].validate(value);
    return result.issues === undefined ? { value: result.value } : { faults: faultsOf(result.issues) };
  } catch (error) {
    return { faults: [{ at: "$", fault: `the schema threw: ${recordError(error).message}` }] };
  }
}

function faultsOf(issues: readonly StandardSchemaV1.Issue[]): readonly Fault[] {
  const faults = issues.slice(0, mostFaults).map(({ path, message }) => ({ at: pathText(path), fault: message }));
  if (faults.length === 0) return [{ at: "$", fault: "the schema refuses it without saying why" }];
  const left = issues.length - faults.length;
  return left === 0 ? faults : [...faults, { at: "$", fault: `and ${left} more` }];
}

/** `$.items[0].name` */
function pathText(path: StandardSchemaV1.Issue["path"] = []): string {
  const keys = path.map((segment) => (typeof segment === "object" ? segment.key : segment));
  return keys.reduce<string>((text, key) => text + keyText(key), "$");
}

function keyText(key: PropertyKey): string {
  if (typeof key === "number") return `[${key}]`;
  const name = String(key);
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
