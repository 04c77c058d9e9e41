// `npm run bench:waiting -- [--runs N] [--signals N] [--slots N] [--idle SECONDS] [--heap MB] [--json FILE] [--source]`: what
// runs that wait cost. Exits with 1 when a limit is broken, with 2 when it was called wrongly.

import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { runCourse } from "./course.js";
import { judge, tableOf } from "./limits.js";
import { type BenchOptions, parseBenchOptions } from "./options.js";

const say = (line: string) => void process.stderr.write(`${line}\n`);

function readOptions(): BenchOptions {
  try {
    return parseBenchOptions(process.argv.slice(2));
  } catch (error) {
    say((error as Error).message);
    process.exit(2);
  }
}

const { idle, source, json, ...rest } = readOptions();
const options = { ...rest, idleMs: idle * 1_000, program: source ? ("source" as const) : ("built" as const) };
const measured = await runCourse({ ...options, say });
const lines = judge(measured, options);
process.stdout.write(tableOf(lines));
const machine = { cpus: cpus().length, node: process.version, postgres: measured.postgres };
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ options, machine, lines, measured }, null, 2)}\n`);
process.exit(lines.some(({ holds }) => holds === false) ? 1 : 0);
