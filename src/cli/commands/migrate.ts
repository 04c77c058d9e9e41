// `rubicon migrate`: brings the schema up to what this code needs, or prints the SQL for those who apply it by other means.

import { migrate as applyMigrations, migrationsAsSql, verifySchema } from "../../store/migrate.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print, requireTarget } from "../invocation.js";
import { targetOf, targetText } from "../target.js";

export async function migrate(invocation: Invocation, options: { readonly print?: boolean }): Promise<ExitCode> {
  if (options.print === true) {
    invocation.io.out(`${migrationsAsSql(targetOf(invocation.options, invocation.io.env).schema)}\n`);
    return exitCodes.done;
  }
  const target = requireTarget(invocation, true);
  const database = await invocation.doors.openStore(target);
  try {
    const applied = await applyMigrations(database);
    await verifySchema(database);
    print(invocation, { schema: target.schema, applied }, () =>
      applied.length === 0
        ? `Up to date: ${targetText(target)}.`
        : `Applied to ${targetText(target)}:\n${applied.map((name) => `  ${name}`).join("\n")}`,
    );
    return exitCodes.done;
  } finally {
    await database.close();
  }
}
