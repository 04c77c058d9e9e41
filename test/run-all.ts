// EVERYTHING THAT HAS TO HOLD, in one command: types, style, the build, then all tests. Ends with one plain line of counts.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Stage {
  readonly name: string;
  readonly command: readonly string[];
}

const report = join(mkdtempSync(join(tmpdir(), "rubicon-tests-")), "report.json");

const checks: readonly Stage[] = [
  { name: "types", command: ["tsc", "-p", "."] },
  { name: "style", command: ["biome", "ci", "--error-on-warnings", "."] },
  { name: "unused code", command: ["knip"] },
  { name: "build", command: ["tsc", "-p", "tsconfig.build.json"] },
  { name: "package", command: ["publint", "--strict"] },
];

const filters = process.argv.slice(2);
let passed = 0;
let failed = 0;

for (const check of filters.length > 0 ? [] : checks) {
  process.stdout.write(`\n== ${check.name}\n`);
  if (run(check.command) === 0) passed += 1;
  else failed += 1;
}

process.stdout.write("\n== tests\n");
const status = run([
  "vitest",
  "run",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${report}`,
  ...filters,
]);
const counts = readReport();
passed += counts.passed;
failed += counts.failed;
// A suite that can't even be loaded counts no test as failed.
if (status !== 0 && counts.failed === 0) failed += 1;

process.stdout.write(
  `\n${passed} passed, ${failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ""}\n`,
);
process.exitCode = failed > 0 ? 1 : 0;

function run([command, ...args]: readonly string[]): number {
  const { status: code } = spawnSync("npx", ["--no-install", command!, ...args], { stdio: "inherit" });
  return code ?? 1;
}

function readReport(): { passed: number; failed: number; skipped: number } {
  try {
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, "utf8"));
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
