// WHAT CAN BE DECIDED FROM WITHOUT A SAGA'S FUNCTIONS. Stored with each run: cancel, retry and resolve need only this and
// the journal (design 1.1).

/** Where a step stands relative to the pivot decides its kind; it is never written down (1.1). */
export type StepKind = "compensatable" | "pivot" | "retriable";

/** What an element of the list is, where it is not a plain step. */
export type ElementKind = "sleep" | "signal" | "each" | "child";

export interface StepShape {
  readonly name: string;
  readonly kind: StepKind;
  /** Whether rolling back calls a compensation for it. False for `nothingToUndo`, the pivot and what follows it. */
  readonly undone: boolean;
  /** Whether its SQL and its entry commit in one transaction: it is never in doubt (1.10). */
  readonly transactional: boolean;
  /** Absent: a step with a body of its own. */
  readonly element?: ElementKind;
  /** The name of the signal that a `signal` element waits for. */
  readonly signal?: string;
  /** Elements with the same number run at once; they stand side by side in the list. Absent: alone. */
  readonly parallel?: number;
  /** Whether it runs is decided when its turn comes, and recorded. */
  readonly conditional?: true;
}

/** The ordered steps of a saga. Any difference in it is another shape, and such runs wait for a worker that has it (1.9). */
export interface Shape {
  readonly steps: readonly StepShape[];
  /** A durable function: it has no list, and each run's journal says what it asked for. */
  readonly function?: true;
}

/** The canonical text of a shape: equal shapes have equal texts. What its hash is taken of. */
export function shapeText(shape: Shape): string {
  // No list's text, for any of those begins with a bracket.
  if (shape.function === true) return "function";
  return JSON.stringify(shape.steps.map((step) => [...plainText(step), ...elementText(step)]));
}

function plainText(step: StepShape): readonly unknown[] {
  return [step.name, step.kind, step.undone, step.transactional];
}

function elementText({ element, signal, parallel, conditional }: StepShape): readonly unknown[] {
  const plain = element === undefined && parallel === undefined && conditional === undefined;
  return plain ? [] : [element ?? "step", signal ?? null, parallel ?? null, conditional ?? false];
}

/** The readable difference between the shape a run was started with and another one, a line each; empty when equal. */
export function shapeDifference(wanted: Shape, present: Shape): string[] {
  if (wanted.function !== present.function)
    return [wanted.function === true ? "was a function and is a list now" : "was a list and is a function now"];
  const lines: string[] = [];
  const length = Math.max(wanted.steps.length, present.steps.length);
  for (let index = 0; index < length; index += 1) {
    const before = wanted.steps[index];
    const now = present.steps[index];
    if (before === undefined) lines.push(`step ${index + 1}: "${now!.name}" was added`);
    else if (now === undefined) lines.push(`step ${index + 1}: "${before.name}" is missing`);
    else if (before.name !== now.name) lines.push(`step ${index + 1}: "${before.name}" is now "${now.name}"`);
    else lines.push(...stepDifference(before, now).map((what) => `step "${now.name}" ${what}`));
  }
  return lines;
}

function stepDifference(before: StepShape, now: StepShape): string[] {
  const lines: string[] = [];
  const note = (differs: boolean, what: string) => void (differs && lines.push(what));
  note(before.element !== now.element, `was ${elementName(before)} and is now ${elementName(now)}`);
  note(before.kind !== now.kind, `was ${before.kind} and is now ${now.kind}`);
  note(
    before.undone !== now.undone,
    before.undone ? "had a compensation and has none now" : "had no compensation and has one now",
  );
  note(
    before.transactional !== now.transactional,
    before.transactional ? "was transactional and is not now" : "is transactional now",
  );
  note(
    before.element === now.element && before.signal !== now.signal,
    `waited for the signal "${before.signal}" and waits for "${now.signal}" now`,
  );
  note(
    before.conditional !== now.conditional,
    before.conditional ? "ran only at times and runs always now" : "runs only at times now",
  );
  note(before.parallel !== now.parallel, `was ${placeText(before)} and is ${placeText(now)} now`);
  return lines;
}

const elementNames = { sleep: "a sleep", signal: "a wait for a signal", each: "a forEach", child: "a child" } as const;

function elementName({ element }: StepShape): string {
  return element === undefined ? "a step" : elementNames[element];
}

function placeText({ parallel }: StepShape): string {
  return parallel === undefined ? "alone" : `in the parallel at place ${parallel + 1}`;
}
