// WHAT THE COMPILER SAYS about pieces of source that must not compile: each is checked as a file of the test folder, under
// the project's own options, and none is written to disk.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export interface CompileFault {
  /** From 1. */
  readonly line: number;
  /** The whole message, its elaboration included. */
  readonly text: string;
}

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/**
 * Type-checks all `snippets` in one program, which takes a few seconds, and gives back the faults of each. They may import
 * as a file in `test/types` may.
 */
export function compile<Name extends string>(snippets: Readonly<Record<Name, string>>): Record<Name, CompileFault[]> {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const names = Object.keys(snippets) as Name[];
  const paths = names.map((_, index) => join(root, "test", "types", `snippet-${index}.ts`));
  const sources = new Map(names.map((name, index) => [paths[index]!, snippets[name]]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => sources.has(path) || fileExists(path);
  host.readFile = (path) => sources.get(path) ?? readFile(path);
  const program = ts.createProgram(paths, { ...options, noUnusedLocals: false, noErrorTruncation: true }, host);
  const faults = paths.map((path) => faultsOf(program, path));
  return Object.fromEntries(names.map((name, index) => [name, faults[index]!])) as Record<Name, CompileFault[]>;
}

function faultsOf(program: ts.Program, path: string): CompileFault[] {
  const file = program.getSourceFile(path)!;
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((diagnostic) => ({
    line: file.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line + 1,
    text: ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"),
  }));
}
