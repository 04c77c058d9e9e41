// THE SAGAS IN A FILE of the user's: whatever it exports that `defineSaga` made, by any name, also in arrays and objects.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Saga } from "../index.js";
import { WrongUsage } from "./failure.js";

/** Loads `file`, relative to `cwd`. @throws WrongUsage when it is not there, can't be loaded, or exports no saga */
export async function loadSagas(file: string, cwd: string): Promise<Saga[]> {
  const path = resolve(cwd, file);
  if (!existsSync(path))
    throw new WrongUsage(`there is no file ${path}; give the built JavaScript file that exports your sagas`);
  const found = new Set<Saga>();
  collect(await load(path), found, 0);
  if (found.size === 0)
    throw new WrongUsage(
      `${path} exports no saga; export what defineSaga returns, by name, as default, or in an array`,
    );
  return [...found];
}

async function load(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | undefined)?.code;
    if (code === "ERR_UNKNOWN_FILE_EXTENSION")
      throw new WrongUsage(
        `${path} is TypeScript, which this Node does not load: build it first, or run the command under tsx`,
      );
    throw error;
  }
}

const deepest = 3;

function collect(value: unknown, found: Set<Saga>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > deepest) return;
  if (isSaga(value)) found.add(value);
  else for (const item of Object.values(value)) collect(item, found, depth + 1);
}

/** By what it is made of, not by identity: the file may use another copy of the package. */
function isSaga(value: object): value is Saga {
  return Object.isFrozen(value) && "shape" in value && "steps" in value && "version" in value && "name" in value;
}
