// WHAT IS SAID OF A RUN THAT ISN'T THERE: the same as the library says, with what may be wrong about the asking.

import { CommandFailure } from "../failure.js";

export function unknownRun(id: string): CommandFailure {
  return new CommandFailure(
    "run.not_found",
    `there is no run "${id}" in this database, schema and tenant. \`rubicon runs\` lists what there is.`,
  );
}
