// WHICH IDS A RUN CAN HAVE: they are stored, shown, and sent to others as part of idempotency keys (design 1.9).

import { UsageError } from "../errors/usage-errors.js";
import { sha256 } from "../platform/digest.js";

const longest = 200;
const digestLength = 32;

/** An id that can be stored, shown and sent as part of a key. @throws UsageError `run.id_invalid` */
export function checkId(id: unknown): string {
  const fault = idFault(id);
  if (fault === undefined) return id as string;
  throw new UsageError("run.id_invalid", `a run's id is a string of 1 to ${longest} characters without NUL; ${fault}`);
}

/** What is wrong with an id; undefined when a run can have it. */
export function idFault(id: unknown): string | undefined {
  if (typeof id !== "string") return "it is not a string";
  if (id.length === 0) return "it is empty";
  if (id.length > longest) return `it has ${id.length} characters`;
  if (id.includes("\0")) return "it contains a NUL character";
  return /\p{Surrogate}/u.test(id) ? "it contains half of a surrogate pair" : undefined;
}

/**
 * The id of a step's child: its own for ever, so that a start that is repeated is the same run. `earlier`: how many runs of
 * the child were undone before. Where the parent's id leaves no room, what is cut off is told apart by a digest.
 */
export function childRunId(parent: string, step: string, earlier: number): string {
  const id = `${parent}/${step}${earlier === 0 ? "" : `~${earlier + 1}`}`;
  if (id.length <= longest) return id;
  const digest = sha256(id).slice(0, digestLength);
  return `${id.slice(0, longest - digestLength - 1).replace(/[\uD800-\uDBFF]$/, "")}~${digest}`;
}
