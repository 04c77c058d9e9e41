// WHICH COLOUR MEANS WHAT: green is well, yellow is on its way, red needs somebody.

import type { RunStatus } from "../../index.js";
import type { Colour } from "./paint.js";

export const statusColours: Readonly<Record<RunStatus | "blocked", Colour>> = {
  pending: "dim",
  running: "cyan",
  waiting: "cyan",
  compensating: "yellow",
  completed: "green",
  failed: "yellow",
  cancelled: "yellow",
  timed_out: "yellow",
  blocked: "red",
  compensation_failed: "red",
  forward_incomplete: "red",
  in_doubt: "red",
};
