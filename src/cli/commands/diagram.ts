// `rubicon diagram FILE`: a saga drawn, with the line of its pivot. Needs no database.

import { describeSaga, type Saga } from "../../index.js";
import { type ExitCode, exitCodes, WrongUsage } from "../failure.js";
import { type Invocation, print } from "../invocation.js";
import { loadSagas } from "../sagas-file.js";

export interface DiagramOptions {
  readonly saga?: string;
  readonly mermaid?: boolean;
}

export async function diagram(invocation: Invocation, file: string, options: DiagramOptions): Promise<ExitCode> {
  const sagas = chosen(await loadSagas(file, invocation.io.cwd), options.saga);
  const described = sagas.map((saga) => ({ name: saga.name, version: saga.version, ...describeSaga(saga) }));
  print(invocation, described, () =>
    described.map(({ mermaid, text }) => (options.mermaid === true ? mermaid : text)).join("\n\n"),
  );
  return exitCodes.done;
}

function chosen(sagas: readonly Saga[], name: string | undefined): readonly Saga[] {
  if (name === undefined) return sagas;
  const found = sagas.filter((saga) => saga.name === name);
  if (found.length > 0) return found;
  throw new WrongUsage(`the file exports no saga "${name}"; it exports ${sagas.map((saga) => saga.name).join(", ")}`);
}
