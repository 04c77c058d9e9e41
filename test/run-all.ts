// EVERYTHING THAT HAS TO HOLD, in one command: types, style, the build, then all tests, and what speaks SQL once more on the
// oldest supported Postgres where it is installed. Ends with one plain line of counts.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasVersion } from "./support/postgres.js";

interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

const checks: readonly Check[] = [
  { name: "types", command: ["tsc", "-p", "."] },
  { name: "style", command: ["biome", "ci", "--error-on-warnings", "."] },
  { name: "unused code", command: ["knip"] },
  { name: "build", command: ["tsc", "-p", "tsconfig.build.json"] },
  { name: "package", command: ["publint", "--strict"] },
];

const reports = mkdtempSync(join(tmpdir(), "rubicon-tests-"));
const filters = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };

for (const check of filters.length > 0 ? [] : checks) {
  say(check.name);
  if (run(check.command) === 0) total.passed += 1;
  else total.failed += 1;
}
test("tests", filters);
if (filters.length === 0) {
  if (hasVersion("15"))
    test("tests on PostgreSQL 15", ["test/db", "test/conformance/durable"], { RUBICON_TEST_POSTGRES: "15" });
  else say("PostgreSQL 15 is not installed here: what speaks SQL was tried on the embedded version alone");
}
process.stdout.write(
  `\n${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}\n`,
);
process.exitCode = total.failed > 0 ? 1 : 0;

function test(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  say(name);
  const report = join(reports, `${name}.json`);
  const status = run(
    ["vitest", "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...args],
    env,
  );
  const counts = read(report);
  total.passed += counts.passed;
  total.skipped += counts.skipped;
  // A suite that can't even be loaded counts no test as failed.
  total.failed += status !== 0 && counts.failed === 0 ? 1 : counts.failed;
}

function say(name: string): void {
  process.stdout.write(`\n== ${name}\n`);
}

function run([command, ...args]: readonly string[], env: Readonly<Record<string, string>> = {}): number {
  const options = { stdio: "inherit", env: { ...process.env, ...env } } as const;
  return spawnSync("npx", ["--no-install", command!, ...args], options).status ?? 1;
}

function read(report: string): { passed: number; failed: number; skipped: number } {
  try {
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, "utf8"));
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests };
  } catch {
    return { passed: 0, failed: 0, skipped: 0 };
  }
}
