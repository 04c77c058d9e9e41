// ONE MISTAKE that the explorer has to find: a change of source text, and the sagas in which it shows.

import type { ExploreOptions } from "./shapes.js";

export interface Mutant {
  readonly name: string;
  readonly mistakes: readonly { readonly file: string; readonly from: string; readonly to: string }[];
  readonly hunts: readonly (readonly [notation: string, options: ExploreOptions])[];
}

export function mutant(
  name: string,
  file: string,
  from: string,
  to: string,
  ...hunts: (string | readonly [string, ExploreOptions])[]
): Mutant {
  return { name, mistakes: [{ file, from, to }], hunts: hunts.map(huntOf) };
}

function huntOf(hunt: string | readonly [string, ExploreOptions]): readonly [string, ExploreOptions] {
  return typeof hunt === "string" ? [hunt, {}] : hunt;
}
