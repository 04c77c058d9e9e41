// ONE HUNT for a counterexample, in a process of its own: explores the runs named in its argument until one of them breaks.
// Started by `mutants`, in a copy of the sources.

import { explore } from "./explore.js";
import { type ExploreOptions, explored } from "./shapes.js";

const hunts = JSON.parse(process.argv[2]!) as readonly (readonly [notation: string, options: ExploreOptions])[];
let worlds = 0;
let found: object | undefined;
for (const [notation, options] of hunts) {
  const { counterexample, worlds: explored_ } = explore(explored(notation, options));
  worlds += explored_;
  if (counterexample === undefined) continue;
  found = { notation, ...counterexample };
  break;
}
process.stdout.write(JSON.stringify({ worlds, found }));
