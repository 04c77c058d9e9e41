// MUTANTS: the core and the owner with one mistake each. The explorer has to find every one of them, or it proves nothing.
// `npm run test:mutants` prints the shortest trace that gives each one away, and fails if one survives or does not apply.

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.js";
import { mutants } from "./mutant-table.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const loader = import.meta.resolve("tsx");

interface Hunted {
  readonly worlds: number;
  readonly found?: { readonly notation: string; readonly faults: readonly string[]; readonly trace: readonly string[] };
}

const wanted = process.argv.slice(2);
const queue = mutants.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
const survivors: string[] = [];
const began = Date.now();
let caught = 0;

await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));

process.stdout.write(`\n${caught} mutants caught, ${survivors.length} survived, ${seconds(began)}\n`);
for (const survivor of survivors) process.stdout.write(`  survived: ${survivor}\n`);
process.exitCode = survivors.length > 0 ? 1 : 0;

async function work(): Promise<void> {
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const start = Date.now();
    const hunted = await hunt(mutant);
    if (typeof hunted === "string" || hunted.found === undefined) {
      survivors.push(typeof hunted === "string" ? `${mutant.name}: ${hunted}` : mutant.name);
      process.stdout.write(`\nSURVIVED ${survivors.at(-1)} (${seconds(start)})\n`);
      continue;
    }
    caught += 1;
    const { notation, faults, trace } = hunted.found;
    const lines = trace.map((line, index) => `    ${index + 1}. ${line}`).join("\n");
    process.stdout.write(
      `\ncaught: ${mutant.name} (${hunted.worlds} worlds, ${seconds(start)})\n  [${notation}] ${faults[0]}\n${lines}\n`,
    );
  }
}

/** Explores a copy of the sources with the mutant's mistake in it. A text says why that could not be done. */
async function hunt(mutant: Mutant): Promise<Hunted | string> {
  const copy = mkdtempSync(join(tmpdir(), "rubicon-mutant-"));
  try {
    for (const part of ["src/core", "src/definition", "src/errors", "test/model", "package.json", "tsconfig.json"])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    for (const { file, from, to } of mutant.mistakes) {
      const text = readFileSync(join(copy, file), "utf8");
      const parts = text.split(from);
      if (parts.length !== 2) return `the text to change is in ${file} ${parts.length - 1} times, not once: ${from}`;
      writeFileSync(join(copy, file), parts.join(to));
    }
    return await explored(copy, mutant);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function explored(copy: string, mutant: Mutant): Promise<Hunted | string> {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      ["--import", loader, join(copy, "test/model/hunt-child.ts"), JSON.stringify(mutant.hunts)],
      { cwd: copy, stdio: ["ignore", "pipe", "pipe"] },
    );
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (errors += chunk));
    child.on("close", (code) => resolve(code === 0 ? JSON.parse(output) : `it broke: ${errors.trim().slice(-500)}`));
  });
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1_000).toFixed(1)} s`;
}
