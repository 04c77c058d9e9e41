// THE SNIPPETS OF A PAGE as programs. A TypeScript block has a mark above it:
//   <!-- snippet NAME -->                       a program by itself
//   <!-- snippet NAME uses OTHER prelude P -->  goes on after OTHER, a snippet of the page, and after test/docs/preludes/P.txt
// and after it, where its output is shown: <!-- prints --> and a text block.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./programs.js";

export interface Snippet {
  readonly name: string;
  /** The whole program: preludes and the snippets that it goes on after come first. */
  readonly code: string;
  readonly prints?: string;
}

const block =
  /(?:<!-- snippet ([\w-]+)(?: uses ([\w-]+))?(?: prelude ([\w-]+))? -->\n\n?)?```ts\n([\s\S]*?)```(?:\n\n<!-- prints -->\n\n?```text\n([\s\S]*?)```)?/g;

/** @throws when a TypeScript block has no mark: every snippet is run */
export function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(join(root, page), "utf8");
  const bodies = new Map<string, string>();
  const snippets: Snippet[] = [];
  for (const [whole, name, uses, prelude, body = "", prints] of text.matchAll(block)) {
    if (name === undefined) throw new Error(`a TypeScript block of ${page} has no mark above it:\n${whole}`);
    if (uses !== undefined && !bodies.has(uses))
      throw new Error(`${page}: snippet ${name} uses ${uses}, which is not before it`);
    const before =
      prelude === undefined ? "" : readFileSync(join(root, "test/docs/preludes", `${prelude}.txt`), "utf8");
    const code = joined([before, uses === undefined ? "" : bodies.get(uses)!, body]);
    bodies.set(name, code);
    snippets.push({ name, code, ...(prints === undefined ? {} : { prints }) });
  }
  return snippets;
}

/** One program: what several parts import from one place is imported once. */
function joined(parts: readonly string[]): string {
  const imported = new Map<string, Set<string>>();
  const rest = parts.map((part) =>
    part.replace(/^import \{([^}]*)\} from "([^"]+)";\n/gm, (_, names: string, from: string) => {
      const known = imported.get(from) ?? new Set();
      for (const name of names.split(",")) if (name.trim() !== "") known.add(name.trim());
      imported.set(from, known);
      return "";
    }),
  );
  const imports = [...imported].map(([from, names]) => `import { ${[...names].join(", ")} } from "${from}";`);
  return `${[...imports, ...rest].join("\n")}\nexport {};\n`;
}
