// EACH EXAMPLE PRINTS WHAT ITS LAST COMMENT SAYS, on a database of its own.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";
import { root, runProgram } from "./programs.js";

const folder = join(root, "examples");
const examples = readdirSync(folder).filter((file) => /^\d\d-.*\.ts$/.test(file));

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

describe("examples", () => {
  it("are numbered without gaps", () => {
    expect(examples.map((file) => Number(file.slice(0, 2)))).toEqual(examples.map((_, index) => index + 1));
    expect(examples.length).toBeGreaterThanOrEqual(7);
  });

  it.each(examples)("%s prints what it says that it prints", async (file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const expected = /\/\* Expected output:\n([\s\S]*)\*\/\n$/.exec(text)?.[1];
    expect(expected, "it ends with its expected output").toBeTruthy();
    const { out, err, code } = await runProgram(join("examples", file), [], { env: { DATABASE_URL: database.url } });
    expect({ out, err, code }).toEqual({ out: expected, err: "", code: 0 });
  });
});
