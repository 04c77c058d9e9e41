// EACH SNIPPET of the README and of the pages in docs/ compiles, runs to its end on a database of its own, and prints what
// the page says that it prints. Each link in them leads somewhere.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshDatabase } from "../support/postgres.js";
import { root, runProgram } from "./programs.js";
import { snippetsOf } from "./snippets.js";

const pages = ["README.md", "CONTRIBUTING.md", ...readdirSync(join(root, "docs")).map((file) => `docs/${file}`)].filter(
  (page) => page.endsWith(".md") && page !== "docs/errors.md",
);

const programs = pages.flatMap((page) =>
  snippetsOf(page).map((snippet) => {
    const name = `${page.replace(/\W+/g, "-")}-${snippet.name}`;
    return { page, snippet, name, file: `dist/snippets/${name}.ts` };
  }),
);

const folder = join(root, "dist/snippets");
beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { file, snippet } of programs) writeFileSync(join(root, file), snippet.code);
  const compilerOptions = { rootDir: "../..", noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: "../../tsconfig.json", compilerOptions, include: ["*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("snippets", () => {
  it("all compile", () => {
    const { stdout } = spawnSync("npx", ["--no-install", "tsc", "-p", "dist/snippets/tsconfig.json"], {
      cwd: root,
      encoding: "utf8",
    });
    // What is wrong with the snippets, or with the call: the library's own files are checked elsewhere.
    const faults = stdout.split("\n").filter((line) => /^(dist\/snippets\/|error )/.test(line));
    expect(faults).toEqual([]);
  });

  it.each(programs)("$page: $snippet.name runs", async ({ file, snippet }) => {
    const database = await freshDatabase();
    try {
      const { out, err, code } = await runProgram(file, [], { env: { DATABASE_URL: database.url } });
      expect({ err, code }, out).toEqual({ err: "", code: 0 });
      if (snippet.prints !== undefined) expect(out).toBe(snippet.prints);
    } finally {
      await database.drop();
    }
  });
});

describe("links", () => {
  it.each(pages)("of %s lead to files that are there", (page) => {
    const text = readFileSync(join(root, page), "utf8");
    const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1]!);
    expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
  });
});
