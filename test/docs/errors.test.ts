// THE TABLE OF ERROR CODES says neither more nor less than the code, and the page says what the table says.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorFamilies } from "../../src/errors/codes.js";
import { errorsFile, errorsPage } from "./errors-page.js";
import { root } from "./programs.js";

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith("errors/codes.ts"))
  .map((file) => readFileSync(join(root, "src", file), "utf8"));

const listed = errorFamilies.flatMap(({ codes }) => Object.keys(codes));

/** Where a code is given to an error: as its first argument, as a default, or as a field. */
const given =
  /(?:super|Error|Failure|failure|refusal|forbidden)\(\s*"([a-z]+\.[a-z_]+)"|\?\? "([a-z]+\.[a-z_]+)"|code: "([a-z]+\.[a-z_]+)"/g;

describe("error codes", () => {
  it("are listed once each", () => {
    expect(listed.filter((code, index) => listed.indexOf(code) !== index)).toEqual([]);
  });

  it("that the code gives to an error are all listed", () => {
    const thrown = sources.flatMap((text) =>
      [...text.matchAll(given)].map((match) => match[1] ?? match[2] ?? match[3]!),
    );
    expect(thrown.length).toBeGreaterThan(40);
    expect([...new Set(thrown)].filter((code) => !listed.includes(code))).toEqual([]);
  });

  it("that are listed are all in the code", () => {
    const made = (code: string) =>
      sources.some((text) => text.includes(`"${code}"`)) ||
      // `retry` and `resolve` are refused at one place.
      sources.some((text) => code.endsWith(".not_applicable") && text.includes("}.not_applicable`"));
    expect(listed.filter((code) => !made(code))).toEqual([]);
  });

  it("and docs/errors.md was made from the table", () => {
    expect(readFileSync(errorsFile, "utf8")).toBe(errorsPage());
  });
});
