// WHY NO LIVE WORKER TAKES A RUN UP: told from what each said of itself when it began (design 1.4, `blocked`). Pure.

import { type Shape, shapeDifference, shapeText } from "../definition/shape.js";
import type { Availability } from "../executor/hooks.js";

/** `said`: what each live worker registered, as text. Whoever asks sees runs of this tenant only. */
export function availabilityFor(said: readonly string[], tenant: string): Availability {
  const registered = said.flatMap(readRegistered);
  const serving = registered.filter(({ tenants }) => tenants?.includes(tenant) ?? true);
  if (registered.length > 0 && serving.length === 0) return () => [`no live worker serves tenant "${tenant}"`];
  return (run) => (said.length === 0 ? [] : reasons(run, serving));
}

interface Registered {
  readonly saga: string;
  readonly version: number;
  readonly shape: Shape;
  /** Whose runs it takes up; absent: everybody's. */
  readonly tenants?: readonly string[];
}

/** What a worker said that it can run; what another version said in other words is passed over. */
function readRegistered(text: string): readonly Registered[] {
  try {
    const said: readonly Registered[] = JSON.parse(text);
    return said.filter((each) => shapeText(each.shape) !== "");
  } catch {
    return [];
  }
}

/** Why none of the registered sagas is the run's; empty when one is. */
function reasons(run: Registered, registered: readonly Registered[]): readonly string[] {
  const named = registered.filter((each) => each.saga === run.saga);
  const versioned = named.filter((each) => each.version === run.version);
  if (versioned.some((each) => shapeText(each.shape) === shapeText(run.shape))) return [];
  if (named.length === 0) return [`no live worker has saga "${run.saga}"`];
  if (versioned.length === 0) {
    const versions = [...new Set(named.map((each) => each.version))].sort((a, b) => a - b);
    return [
      `live workers have saga "${run.saga}" as version ${versions.join(", ")}, and the run is of version ${run.version}`,
    ];
  }
  return shapeDifference(run.shape, versioned[0]!.shape);
}
