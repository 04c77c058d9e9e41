// THE OWNER, as the shell is to be: load → decide → perform → record → append at the next number. All its choices are the
// core's; what it does of itself is to read again when its number was taken, and to stop when the run is another's.

import { whyStop } from "../../src/core/abort.js";
import type { Attempted } from "../../src/core/action.js";
import { decide } from "../../src/core/decide.js";
import type { Direction, Entry } from "../../src/core/entry.js";
import type { ChildLook } from "../../src/core/policies.js";
import { type Outcome, type RecordContext, record, settle } from "../../src/core/record.js";
import type { RunState } from "../../src/core/state.js";
import type { AbortReason } from "../../src/errors/step-errors.js";
import { type Journal, remembered } from "./journals.js";
import { type Explored, now, type PoliciesName } from "./shapes.js";

export interface Owner {
  /** Whether its token is the last one that took the run up. A zombie does not know that it is not. */
  readonly current: boolean;
  readonly stopping: boolean;
  /** Whether its worker has the saga's newer definition. */
  readonly deployed: boolean;
  /** What it has read. */
  readonly view: Journal;
  readonly hand: Hand;
  /** The bodies that go on beside that. */
  readonly beside: readonly BodyHand[];
  /** One of its bodies was aborted by its worker's stop, and may have happened. */
  readonly givenUp: boolean;
  /** How it found its child, since it last read. */
  readonly looked?: ChildLook | undefined;
}

export type BodyHand = Extract<Hand, { readonly kind: "body" }>;

/** What it is about. */
export type Hand =
  /** It offers what was decided to be written. */
  | { readonly kind: "offer"; readonly entries: readonly Entry[] }
  /** The body, or the ask, may have begun. */
  | { readonly kind: "body"; readonly action: Attempted; readonly landed: boolean; readonly aborted?: AbortReason }
  /** It offers what came of it. */
  | { readonly kind: "outcome"; readonly action: Attempted; readonly outcome: Outcome }
  | { readonly kind: "sleep"; readonly until: number }
  | { readonly kind: "look"; readonly step: string; readonly direction: Direction }
  /** Its row is in, and it has not heard. */
  | { readonly kind: "unsure" };

/** What surrounds a decision. */
export interface Surroundings {
  readonly run: Explored;
  readonly policies: PoliciesName;
}

/** What to do with a row: append it after `view`, or nothing, because the run or the outcome is void. */
export type Offer =
  | { readonly kind: "row"; readonly after: Journal; readonly entries: readonly Entry[] }
  | { readonly kind: "void"; readonly view: Journal }
  | { readonly kind: "lost" };

/** The idempotency key that a body gets: the same over attempts, crashes and workers (1.5). */
export function keyOf(action: Attempted): string {
  if (action.kind !== "run" || action.direction === "forward") return `run/${action.step}`;
  return `run/${action.step}/compensate`;
}

/** What it takes in hand after it has read `view`; undefined when it has nothing to begin: it waits, or stops. */
export function takeInHand(around: Surroundings, owner: Owner, view: Journal): Hand | undefined {
  if (!isMine(view.state, owner.current)) return undefined;
  return remembered(view, `hand ${aroundText(around, owner)}`, () => {
    const context = contextOf(around, owner);
    const entries = settle(around.run.shape, view.state, [], context);
    if (entries.length > 0) return { kind: "offer", entries };
    // Who stops begins nothing more beside what it has in hand.
    if (owner.stopping) return undefined;
    const action = decide(around.run.shape, view.state, context);
    switch (action.kind) {
      case "run":
      case "reconcile":
      case "compute":
        return { kind: "body", action, landed: false };
      case "wait":
        return { kind: "sleep", until: action.until };
      case "look":
        return action;
      default:
        return undefined;
    }
  });
}

function aroundText({ policies }: Surroundings, { stopping, givenUp, beside, looked }: Owner): string {
  const busy = beside.map(({ action }) => action.step).join();
  return `${policies} ${stopping} ${givenUp} ${busy} ${JSON.stringify(looked)}`;
}

/** What it offers, when the journal has come to be `journal`. */
export function offer(around: Surroundings, owner: Owner, journal: Journal): Offer {
  const { hand, view } = owner;
  if (hand.kind === "offer" && !isBehind(owner, journal)) return { kind: "row", after: view, entries: hand.entries };
  if (isBehind(owner, journal) && !isMine(journal.state, owner.current)) return { kind: "lost" };
  if (hand.kind !== "outcome") return { kind: "void", view: journal };
  // The number was taken by a bystander: what is right now may be another row, or none.
  const entries = recorded(around, owner, journal);
  return entries === undefined ? { kind: "void", view: journal } : { kind: "row", after: journal, entries };
}

function recorded(around: Surroundings, owner: Owner, journal: Journal): readonly Entry[] | undefined {
  const { hand } = owner;
  if (hand.kind !== "outcome") return undefined;
  const { action, outcome } = hand;
  return remembered(journal, `record ${actionText(action)} ${outcomeText(outcome)} ${aroundText(around, owner)}`, () =>
    record(around.run.shape, journal.state, action, outcome, contextOf(around, owner)),
  );
}

/** Why its body should stop, now that the journal is `journal`. */
export function hears(around: Surroundings, owner: Owner, journal: Journal): AbortReason | undefined {
  const { hand, current, stopping } = owner;
  if (hand.kind !== "body" || hand.aborted !== undefined) return undefined;
  const token = current ? (journal.state.owner?.token ?? "given up") : "lost";
  const reason = remembered(journal, `stop ${actionText(hand.action)} ${token === "lost"} ${around.policies}`, () =>
    whyStop(journal.state, token, hand.action, contextOf(around, { ...owner, stopping: false })),
  );
  return reason ?? (stopping ? "shutdown" : undefined);
}

/** Whether the number after its view is taken. A zombie's always is: by the `taken_up` of the owner after it. */
export function isBehind({ view, current }: Owner, journal: Journal): boolean {
  return view !== journal || !current;
}

function isMine(state: RunState, current: boolean): boolean {
  return state.owner !== undefined && current;
}

function contextOf({ run, policies }: Surroundings, { stopping, givenUp, beside, looked }: Owner): RecordContext {
  const busy = beside.map(({ action }) => action.step);
  const child = run.shape.steps.find(({ element }) => element === "child");
  return {
    now,
    policies: run.policies[policies],
    random: 0,
    worker: "w",
    stopping,
    givenUp,
    busy,
    ...(child && looked && { children: { [child.name]: looked } }),
  };
}

export function actionText(action: Attempted): string {
  if (action.kind === "reconcile") return `ask ${action.step}`;
  if (action.kind === "compute") return `compute ${action.what} of ${action.step}`;
  return action.direction === "forward" ? `do ${action.step}` : `undo ${action.step}`;
}

export function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "returned":
      return "returned";
    case "answered":
      return outcome.answer;
    case "computed":
      return outcome.what === "when" ? `computed ${outcome.holds}` : `computed ${outcome.what}`;
    case "threw":
      return [
        outcome.retryable ? "retryable" : "terminal",
        outcome.happened,
        ...(outcome.counted ? [] : ["never called"]),
        ...(outcome.retryAfterMs === undefined ? [] : [`in ${outcome.retryAfterMs} ms`]),
        ...(outcome.aborted === undefined ? [] : [`aborted: ${outcome.aborted}`]),
      ].join(" ");
  }
}
