// HOW A FAILURE IS TOLD, and with which exit code: 1 failed, 2 wrong usage, 3 refused (design 2.4).

import { isSagaError } from "../index.js";
import type { Io } from "./io.js";
import { toJson } from "./render/json.js";
import { painter } from "./render/paint.js";
import { printable } from "./render/text.js";

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2, refused: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Wrong usage that the command itself finds. Its code is `usage`. */
export class WrongUsage extends Error {
  readonly code = "usage";
  override readonly name = "WrongUsage";
}

/** What the command can't do, for a reason of its own. */
export class CommandFailure extends Error {
  readonly code: string;
  override readonly name = "CommandFailure";

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const usageCodes = new Set([
  "usage",
  "options.invalid",
  "input.invalid",
  "run.id_invalid",
  "cursor.invalid",
  "saga.invalid",
  "signal.unknown",
  "signal.invalid",
]);

/** What a person can do about an error, where the error itself does not say. */
const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "Is the server running, and is the address right? Set --database or DATABASE_URL, or use --embedded DIR.",
  ENOTFOUND: "Check the host's name in --database or DATABASE_URL.",
  "28P01": "Check user and password in --database or DATABASE_URL.",
  "3D000": "Create the database first, or name another one in --database or DATABASE_URL.",
};

export function exitCodeOf(error: unknown): ExitCode {
  const code = codeOf(error);
  if (code?.endsWith(".not_applicable")) return exitCodes.refused;
  return code !== undefined && usageCodes.has(code) ? exitCodes.wrongUsage : exitCodes.failed;
}

/** Writes the error to `io.err`; with `json` as an object. The stack only with `debug`. */
export function tellFailure(
  io: Io,
  error: unknown,
  options: { readonly json: boolean; readonly debug: boolean },
): void {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const hint = hintOf(error);
  if (options.json) {
    io.err(
      `${toJson({ error: { ...(code === undefined ? {} : { code }), message, ...(hint === undefined ? {} : { hint }) } })}\n`,
    );
    return;
  }
  const paint = painter(io.colours);
  io.err(`${paint(code ?? "error", "red", "bold")}: ${printable(message || "no message")}\n`);
  if (hint !== undefined) io.err(`  ${hint}\n`);
  if (options.debug) io.err(`${printable(stackOf(error))}\n`);
  else if (!isSagaError(error) && !(error instanceof WrongUsage) && !(error instanceof CommandFailure))
    io.err("  Run it again with --debug to see where it comes from.\n");
}

function codeOf(error: unknown): string | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Looks through the causes as well: a coded error of the library's often holds the driver's. */
function hintOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at !== undefined && depth < 8; at = causeOf(at), depth += 1) {
    const hint = advice[codeOf(at) ?? ""];
    if (hint !== undefined) return hint;
  }
  return undefined;
}

function causeOf(error: unknown): unknown {
  if (error instanceof AggregateError) return error.cause ?? error.errors[0];
  return error instanceof Error ? error.cause : undefined;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause) || String(error.cause)}`;
  return `${error.stack ?? ""}${cause}`;
}
