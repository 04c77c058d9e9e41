// THE PAGE docs/errors.md, made from the table of codes. Write it with: npx tsx test/docs/errors-page.ts

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { errorFamilies } from "../../src/errors/codes.js";

export const errorsFile = fileURLToPath(new URL("../../docs/errors.md", import.meta.url));

export function errorsPage(): string {
  const families = errorFamilies.map(
    ({ title, rule, codes }) =>
      `## ${title}\n\n${rule}\n\n| code | what it means | what to do |\n|---|---|---|\n${Object.entries(codes)
        .map(([code, { meaning, remedy }]) => `| \`${code}\` | ${cell(meaning)} | ${cell(remedy)} |`)
        .join("\n")}\n`,
  );
  return `${[
    "# Errors",
    "Every error of the library has a stable `code`; messages are for people and may change. `isSagaError(error, code)` tells one, across copies of the package:",
    '```ts\nif (isSagaError(error, "run.conflict")) return reply(409, error.message);\n```',
    "This page is made from the table in `src/errors/codes.ts` (`npx tsx test/docs/errors-page.ts`); a test holds both against the code.",
    ...families,
  ]
    .join("\n\n")
    .trimEnd()}\n`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(errorsFile, errorsPage());
