// WHAT A DRIVE HAS IN HAND: the bodies that it began, until what came of them is in the journal, and what it last saw of its
// children. A bookkeeping: what follows from it is `decide`'s.

import type { Attempted } from "../core/action.js";
import type { ChildLook } from "../core/policies.js";
import type { AbortReason } from "../errors/step-errors.js";
import type { Hand } from "./owned-run.js";
import type { Performance } from "./perform.js";

interface Held {
  readonly action: Attempted;
  performance?: Performance;
  /** Its abort came with the worker's stop: the hand-over says what it came to. */
  givenUp: boolean;
}

export class InHand implements Hand {
  /** The last progress that one of the bodies noted. */
  note: unknown;
  readonly #held = new Map<string, Held>();
  readonly #ends = new Set<Promise<void>>();
  readonly #unrecorded = new Set<string>();
  #children: Readonly<Record<string, ChildLook>> = {};

  get isBusy(): boolean {
    return [...this.#held.values()].some(({ givenUp }) => !givenUp);
  }

  get unrecorded(): boolean {
    return this.#unrecorded.size > 0;
  }

  /** Whose bodies they are. */
  get steps(): readonly string[] {
    return [...this.#held.keys()];
  }

  holding(except: string | undefined): ReturnType<Hand["holding"]> {
    const held = [...this.#held].filter(([step]) => step !== except);
    return {
      busy: held.filter(([, { givenUp }]) => !givenUp).map(([step]) => step),
      givenUp: held.some(([, { givenUp }]) => givenUp),
      children: this.#children,
    };
  }

  /** `end` resolves once what came of it is in the journal, or will not be. */
  take(action: Attempted, end: Promise<void>): void {
    const held: Held = this.#held.get(action.step) ?? { action, givenUp: false };
    this.#held.set(action.step, held);
    const ended = end.then(() => {
      this.#ends.delete(ended);
    });
    this.#ends.add(ended);
  }

  performs(action: Attempted, performance: Performance, { unrecorded }: { readonly unrecorded: boolean }): void {
    const held: Held = this.#held.get(action.step) ?? { action, givenUp: false };
    held.performance = performance;
    this.#held.set(action.step, held);
    if (unrecorded) this.#unrecorded.add(action.step);
  }

  /** Its body is over; what came of it is still to be written. */
  performed(step: string): void {
    delete this.#held.get(step)!.performance;
    this.note = undefined;
  }

  recorded(step: string): void {
    this.#unrecorded.delete(step);
  }

  giveUp(step: string): void {
    this.#held.get(step)!.givenUp = true;
  }

  /** What a body says after its attempt is over is nobody's progress. */
  noted(performance: Performance, value: unknown): void {
    if ([...this.#held.values()].some((held) => held.performance === performance)) this.note = value;
  }

  /** Aborts each body for which there is a reason. */
  abort(why: (action: Attempted) => AbortReason | undefined): void {
    for (const { action, performance } of this.#held.values()) {
      const reason = performance && why(action);
      if (reason !== undefined) performance!.abort(reason);
    }
  }

  /**
   * It is over. What came of it stays in hand where it is not in the journal: a row that turned the saga would say that it did
   * not happen.
   */
  release(step: string): void {
    if (!this.#unrecorded.has(step)) this.#held.delete(step);
  }

  /** Resolves when nothing is in hand any more. */
  async empty(): Promise<void> {
    await Promise.all(this.#ends);
  }

  saw(step: string, look: ChildLook): void {
    this.#children = { ...this.#children, [step]: look };
  }

  /** Something was told: what was seen may be no longer so. */
  forgetChildren(): void {
    this.#children = {};
  }
}
