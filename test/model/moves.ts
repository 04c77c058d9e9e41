// EVERYTHING THAT CAN HAPPEN NEXT in a world: what its owners do, what their bodies come to, who takes a run up, who asks
// and settles, what breaks.

import type { Attempted } from "../../src/core/action.js";
import type { Entry, StoredValue } from "../../src/core/entry.js";
import type { Outcome, Threw } from "../../src/core/record.js";
import { takeOver, takeUp } from "../../src/core/take-up.js";
import {
  type CancelDecision,
  type CancelVerdict,
  cancelVerdict,
  decideCancel,
  decideResolve,
  decideRetry,
  type OperatorDecision,
} from "../../src/core/verbs.js";
import type { AbortReason } from "../../src/errors/step-errors.js";
import { type Appended, type Journal, type Journals, remembered } from "./journals.js";
import { actionText, hears, isBehind, keyOf, type Offer, type Owner, offer, outcomeText, takeInHand } from "./owner.js";
import { type Disturbance, type Explored, longDelayMs, now, shortDelayMs } from "./shapes.js";
import {
  budgetOf,
  type Charge,
  charged,
  chargeOf,
  deadlineMatters,
  effectOf,
  landed,
  policiesOf,
  type Verdict,
  type World,
  withEffect,
} from "./world.js";

export interface Move {
  readonly label: string;
  readonly to: World;
  /** It may go on for ever without anybody being at fault: a peer that says "try again". */
  readonly temporary?: boolean;
  /** The row that it wrote, for people. */
  readonly appended?: Appended;
  readonly faults?: readonly string[];
}

const output: StoredValue = { format: "text", text: "output" };
const by = "ana";
/** An owner and a zombie. */
const maxOwners = 2;

const error = { name: "Error", message: "no" };
const threw = { kind: "threw", error, counted: true } as const;
const returned: Outcome = { kind: "returned", output };
const maybeRetry: Threw = { ...threw, retryable: true, happened: "maybe", retryAfterMs: longDelayMs };
const maybeTerminal: Threw = { ...threw, retryable: false, happened: "maybe" };
const noRetry: Threw = { ...threw, retryable: true, happened: "no", retryAfterMs: shortDelayMs };
const noTerminal: Threw = { ...threw, retryable: false, happened: "no" };
const neverCalled: Threw = { ...threw, retryable: true, happened: "no", counted: false, retryAfterMs: longDelayMs };
const askThrew: Threw = maybeRetry;
const notHappened: Outcome = { kind: "answered", answer: "not_happened" };
const cannotTell: Outcome = { kind: "answered", answer: "cannot_tell" };

function abortedBy({ retryAfterMs: _later, ...outcome }: Threw, aborted: AbortReason): Threw {
  return { ...outcome, aborted };
}

function isTemporary(outcome: Outcome): boolean {
  return outcome.kind === "threw" && outcome.retryable;
}

function promiseOf(verdict: CancelVerdict): Verdict {
  switch (verdict.verdict) {
    case "rolling_back":
      return verdict.cause;
    case "refused":
      return "refused";
    default:
      return "cancelling";
  }
}

export function movesOf(run: Explored, journals: Journals, world: World): Move[] {
  const moves = new Moves(run, journals, world);
  for (const owner of world.owners) moves.ofOwner(owner);
  moves.ofWorkers();
  moves.ofLateEffects();
  if (world.left > 0) moves.ofOperators();
  return moves.found;
}

class Moves {
  readonly found: Move[] = [];
  readonly #run: Explored;
  readonly #journals: Journals;
  readonly #world: World;
  #actor: string | undefined;

  constructor(run: Explored, journals: Journals, world: World) {
    this.#run = run;
    this.#journals = journals;
    this.#world = world;
  }

  ofOwner(owner: Owner): void {
    this.#actor = owner.current ? "the owner" : "a zombie";
    this.#movesOf(owner);
    this.#actor = undefined;
  }

  #movesOf(owner: Owner): void {
    switch (owner.hand.kind) {
      case "offer":
      case "outcome":
        this.#offers(owner);
        break;
      case "body":
        this.#performs(owner, owner.hand.action);
        break;
      case "sleep": {
        const asleep = !isBehind(owner, this.#world.journal);
        const ms = asleep ? owner.hand.until - now : 0;
        const later = this.#later(this.#without(owner), ms);
        this.#add({ label: asleep ? "sleeps" : "is woken", to: this.#reads(later, owner, later.journal) });
        if (asleep && this.#world.deadline && deadlineMatters({ ...this.#world, owners: [] }))
          this.#add({ label: "is woken by the deadline", to: this.#reads(this.#without(owner), owner, owner.view) });
        break;
      }
      case "unsure":
        this.#add({ label: "hears that its row is in", to: this.#reads(this.#without(owner), owner, owner.view) });
    }
    // What a zombie does of itself is no less than what could be done to it.
    if (!owner.current) return;
    this.#disturb("crash", () => ({ label: "dies with its process", to: this.#dies(owner) }));
    if (!owner.stopping)
      this.#disturb("shutdown", () => ({
        label: "its worker closes",
        to: this.#with(this.#without(owner), { ...owner, stopping: true }),
      }));
  }

  #offers(owner: Owner): void {
    const { journal } = this.#world;
    const offered = offer({ run: this.#run, policies: policiesOf(this.#world, owner) }, owner, journal);
    const without = this.#without(owner);
    switch (offered.kind) {
      case "lost":
        this.#add({ label: "finds that the run is another's", to: without });
        break;
      case "void":
        this.#add({ label: "finds nothing to write", to: this.#reads(this.#excused(without, owner), owner, journal) });
        break;
      case "row":
        this.#writes(owner, without, offered);
    }
  }

  #writes(owner: Owner, without: World, { entries, after }: Extract<Offer, { kind: "row" }>): void {
    const appended = this.#journals.append(after, entries, this.#world.deadline);
    let world: World = { ...without, journal: appended.journal };
    if (owner.hand.kind === "outcome") {
      world = this.#accounted(world, owner, entries);
      world = this.#committed(world, owner.hand.action, owner.hand.outcome);
    }
    const temporary = owner.hand.kind === "outcome" && isTemporary(owner.hand.outcome);
    const written = { appended, temporary };
    this.#add({ label: "writes", to: this.#reads(world, owner, appended.journal), ...written });
    if (owner.current)
      this.#disturb("lost answer", () => ({
        label: "writes, and does not hear",
        to: this.#with(world, { ...owner, view: appended.journal, hand: { kind: "unsure" } }),
        ...written,
      }));
  }

  /** A transactional step's SQL commits with its entry. */
  #committed(world: World, action: Attempted, outcome: Outcome): World {
    const charge = chargeOf(action);
    return charge !== undefined && outcome.kind === "returned" && this.#isTransactional(action.step)
      ? landed(this.#run, world, charge)
      : world;
  }

  /** Takes back the charge of an execution that uses up no attempt (1.5). */
  #accounted(world: World, owner: Owner, entries: readonly Entry[]): World {
    if (owner.hand.kind !== "outcome" || owner.hand.outcome.kind !== "threw") return world;
    const { outcome } = owner.hand;
    const aborted = outcome.aborted !== undefined && outcome.aborted !== "shutdown";
    if (!outcome.counted || aborted) return this.#excused(world, owner);
    const handedOver = entries.some(({ kind }) => kind === "handed_over");
    return handedOver || outcome.aborted !== undefined ? this.#excused(world, owner, "unless once") : world;
  }

  #performs(owner: Owner, action: Attempted): void {
    const { hand } = owner;
    if (hand.kind !== "body") return;
    const without = this.#without(owner);
    const fresh = !hand.landed && hand.aborted === undefined;
    if (fresh && isBehind(owner, this.#world.journal))
      this.#add({
        label: `reads before it begins to ${actionText(action)}`,
        to: this.#reads(this.#excused(without, owner), owner, this.#world.journal),
      });
    if (fresh && owner.stopping)
      this.#add({
        label: `does not begin to ${actionText(action)}`,
        to: this.#reads(this.#excused(without, owner), owner, owner.view),
      });
    const reason = hears({ run: this.#run, policies: policiesOf(this.#world, owner) }, owner, this.#world.journal);
    if (reason === "lost") this.#add({ label: "hears that the run is another's", to: this.#abandons(without, owner) });
    else if (reason !== undefined)
      this.#add({
        label: `is told to stop: ${reason}`,
        to: this.#with(without, { ...owner, hand: { ...hand, aborted: reason } }),
      });
    if (action.kind === "reconcile") this.#asks(owner, without, action, hand.aborted);
    else this.#runs(owner, without, action, hand);
  }

  #runs(
    owner: Owner,
    without: World,
    action: Extract<Attempted, { kind: "run" }>,
    hand: Extract<Owner["hand"], { kind: "body" }>,
  ): void {
    const { step, direction } = action;
    const transactional = this.#isTransactional(step);
    const forward = direction === "forward";
    const refused = forward && effectOf(this.#run, without, step).voided;
    const key = forward ? `run/${step}` : `run/${step}/compensate`;
    if (!transactional && !hand.landed && !refused)
      this.#add({
        faults: keyOf(action) === key ? [] : [`1.5 the key of ${actionText(action)} is ${keyOf(action)}`],
        label: `makes ${actionText(action)} take effect`,
        to: this.#with(landed(this.#run, without, { step, direction }), { ...owner, hand: { ...hand, landed: true } }),
      });
    const settles = (outcome: Outcome, world: World): void => {
      const told = hand.aborted === undefined || outcome.kind !== "threw" ? outcome : abortedBy(outcome, hand.aborted);
      this.#add({
        label: `ends to ${actionText(action)}: ${outcomeText(told)}`,
        to: this.#with(world, { ...owner, hand: { kind: "outcome", action, outcome: told } }),
      });
    };
    if (hand.landed || transactional) settles(returned, without);
    // Whatever a zombie offers, it will be told that the number is taken: two answers are enough.
    if (!owner.current) {
      if (!hand.landed) settles(noTerminal, without);
      return;
    }
    // A request that nobody waits for any more may land later.
    const late = transactional || !forward || hand.landed ? without : this.#late(without, step, "settled");
    if (hand.landed || transactional || !forward) {
      settles(maybeRetry, late);
      if (hand.aborted === undefined) settles(maybeTerminal, late);
    } else {
      settles(maybeRetry, late);
      settles(noTerminal, without);
      if (hand.aborted === undefined) {
        settles(maybeTerminal, late);
        settles(noRetry, without);
        settles(neverCalled, without);
      }
    }
  }

  #asks(owner: Owner, without: World, action: Attempted, aborted: AbortReason | undefined): void {
    const { live } = effectOf(this.#run, without, action.step);
    const answers = (outcome: Outcome, world: World): void =>
      this.#add({
        label: `ends to ${actionText(action)}: ${outcomeText(outcome)}`,
        to: this.#with(world, { ...owner, hand: { kind: "outcome", action, outcome } }),
      });
    if (live) answers(returned, without);
    // "Not happened" is a promise: the key is voided first, where the peer can do that (1.5).
    else {
      const voided = this.#run.peer === "tombstones" ? { voided: true } : {};
      answers(notHappened, withEffect(this.#run, without, action.step, voided));
    }
    if (aborted === undefined) answers(cannotTell, without);
    answers(aborted === undefined ? askThrew : abortedBy(askThrew, aborted), without);
  }

  ofWorkers(): void {
    const { journal, owners } = this.#world;
    const { finished, owner } = journal.state;
    if (finished !== undefined || owners.length >= maxOwners) return;
    if (owner === undefined) {
      const atOnce = this.#world.deadline && deadlineMatters({ ...this.#world, owners: [] });
      const ms = atOnce ? 0 : Math.max(0, journal.state.dueAt - now);
      this.#takesUp(this.#later(this.#world, ms), "claims", undefined);
      return;
    }
    const alive = owners.find((other) => other.current);
    for (const crash of [true, false]) {
      const label = crash ? "takes the run over, a crash" : "takes the run over, no crash";
      if (alive === undefined) this.#takesUp(this.#world, label, { crash });
      else this.#disturbed("takeover", (world) => this.#takesUp(world, `${label}, its owner alive`, { crash }));
    }
  }

  #takesUp(world: World, label: string, over: { readonly crash: boolean } | undefined): void {
    const { state } = world.journal;
    const taker = { worker: "w", token: state.owner?.token === "a" ? "b" : "a" };
    const appended = this.#append(world.journal, `taken ${over?.crash}`, () =>
      over === undefined ? takeUp(taker) : takeOver(this.#run.shape, state, { ...taker, ...over }, { now, random: 0 }),
    );
    const { orphan, ...rest } = world;
    const before = world.owners.find((other) => other.current);
    let taken: World = {
      ...rest,
      journal: appended.journal,
      owners: world.owners.map((other) => ({ ...other, current: false })),
    };
    if (over?.crash === false) {
      if (orphan !== undefined) taken = this.#excusedUnlessOnce(taken, orphan);
      if (before !== undefined) taken = this.#excused(taken, before, "unless once");
    }
    const owner: Owner = {
      current: true,
      stopping: false,
      deployed: world.deployed,
      view: appended.journal,
      hand: { kind: "unsure" },
    };
    this.#add({ label, to: this.#reads(taken, owner, appended.journal), appended });
  }

  ofLateEffects(): void {
    for (const { name } of this.#run.shape.steps) {
      const { late, live, voided } = effectOf(this.#run, this.#world, name);
      if (late > 0 && !live && !voided)
        this.#add({
          label: `${name} takes effect late`,
          to: withEffect(this.#run, this.#world, name, { live: true, late: 0 }),
        });
    }
  }

  ofOperators(): void {
    const { journal, deadline } = this.#world;
    const { shape } = this.#run;
    if (!deadline && deadlineMatters(this.#world))
      this.#disturb("deadline", () => ({ label: "the deadline passes", to: { ...this.#world, deadline: true } }));
    if (!this.#world.deployed)
      this.#disturb("deploy", () => ({ label: "a deploy changes budgets", to: { ...this.#world, deployed: true } }));
    this.#disturbed("cancel", (world) => this.#cancels(world));
    this.#disturbed("retry", (world) => {
      const decided = remembered(journal, "retry", () => decideRetry(journal.state, by, now));
      const retried = this.#settles(world, "an operator retries", decided);
      if (retried === undefined) return;
      const effects = retried.to.effects.map((effect) => ({ ...effect, charged: 0, undoCharged: 0 }));
      this.#add({ ...retried, to: { ...retried.to, effects } });
    });
    for (const { name: step } of shape.steps)
      for (const as of ["done", "not_done", "undone"] as const) {
        if (as === "not_done" && effectOf(this.#run, this.#world, step).live) continue;
        this.#disturbed("resolve", (world) => {
          const resolution = { step, as, by, ...(as === "done" ? { output } : {}) };
          const decided = remembered(journal, `${step} ${as}`, () => decideResolve(shape, journal.state, resolution));
          const resolved = this.#settles(world, `an operator settles ${step} as ${as}`, decided);
          if (resolved !== undefined) this.#add({ ...resolved, to: this.#arranged(resolved.to, step, as) });
        });
      }
  }

  /** What an operator says is true, and stays so: not done means that the key is dead (1.10). */
  #arranged(world: World, step: string, as: "done" | "not_done" | "undone"): World {
    if (as === "done") return withEffect(this.#run, world, step, { live: true });
    if (as === "not_done") return withEffect(this.#run, world, step, { voided: true });
    return withEffect(this.#run, world, step, { live: false, undone: true, voided: true });
  }

  #settles(world: World, label: string, decided: OperatorDecision): Move | undefined {
    if ("refused" in decided) return undefined;
    const appended = this.#journals.append(world.journal, decided.entries, world.deadline);
    return { label, to: { ...world, journal: appended.journal }, appended };
  }

  #cancels(world: World): void {
    const { journal } = world;
    const { shape } = this.#run;
    const decided: CancelDecision = remembered(journal, "cancel", () => decideCancel(shape, journal.state, { by }));
    if (decided.entries.length === 0) return;
    const appended = this.#journals.append(journal, decided.entries, world.deadline);
    const verdict = cancelVerdict(shape, appended.journal.state, decided);
    const promised = promiseOf(verdict);
    const faults = verdict.verdict === "cancelled" && appended.journal.state.finished?.status !== "cancelled";
    this.#add({
      label: `somebody asks to stop: ${verdict.verdict}`,
      to: {
        ...world,
        journal: appended.journal,
        promised: world.promised.includes(promised) ? world.promised : [...world.promised, promised].sort(),
      },
      appended,
      faults: faults ? ['1.7 "cancelled" was answered, and the run is not'] : [],
    });
  }

  /** `owner`, having read `view`, goes on with what follows. */
  #reads(world: World, owner: Owner, view: Journal): World {
    const around = { run: this.#run, policies: policiesOf(world, owner) };
    const hand = takeInHand(around, view, owner.current, owner.stopping);
    if (hand === undefined) return world;
    const charge = hand.kind === "body" ? chargeOf(hand.action) : undefined;
    const begun = charge !== undefined && owner.current ? this.#charged(world, charge) : world;
    return this.#with(begun, { ...owner, view, hand });
  }

  #dies(owner: Owner): World {
    const without = this.#without(owner);
    const charge = this.#chargeOf(owner);
    const orphaned = owner.current && charge !== undefined ? { ...without, orphan: charge } : without;
    return this.#abandons(orphaned, owner);
  }

  /** What it has sent may still land. */
  #abandons(world: World, { hand }: Owner): World {
    if (hand.kind !== "body" || hand.landed || hand.action.kind !== "run") return world;
    const { step, direction } = hand.action;
    return direction === "forward" && !this.#isTransactional(step) ? this.#late(world, step, "unsettled") : world;
  }

  #late(world: World, step: string, attempt: "settled" | "unsettled"): World {
    if (this.#run.peer === "tombstones") {
      const { live, voided } = effectOf(this.#run, world, step);
      return live || voided ? world : withEffect(this.#run, world, step, { late: Number.POSITIVE_INFINITY });
    }
    const { attemptMs } = this.#run.policies.before.steps[step]!;
    return attempt === "settled" ? world : withEffect(this.#run, world, step, { late: attemptMs });
  }

  #later(world: World, ms: number): World {
    if (ms === 0) return world;
    return {
      ...world,
      journal: this.#journals.later(world.journal, ms),
      owners: world.owners.map((owner) => ({ ...owner, view: this.#journals.later(owner.view, ms) })),
      effects: world.effects.map((effect) => ({ ...effect, late: Math.max(0, effect.late - ms) })),
    };
  }

  #charged(world: World, charge: Charge): World {
    return Number.isFinite(budgetOf(this.#run, charge)) ? charged(this.#run, world, charge, 1) : world;
  }

  #excused(world: World, owner: Owner, when: "always" | "unless once" = "always"): World {
    const charge = owner.current || when === "unless once" ? this.#chargeOf(owner) : undefined;
    if (charge === undefined) return world;
    return when === "unless once" ? this.#excusedUnlessOnce(world, charge) : this.#uncharged(world, charge);
  }

  /** "Never begun twice" has no exception but a transaction that was voided (1.5). */
  #excusedUnlessOnce(world: World, charge: Charge): World {
    const once = budgetOf(this.#run, charge) === 1 && !this.#isTransactional(charge.step);
    return once ? world : this.#uncharged(world, charge);
  }

  #uncharged(world: World, charge: Charge): World {
    return Number.isFinite(budgetOf(this.#run, charge)) ? charged(this.#run, world, charge, -1) : world;
  }

  #chargeOf({ hand }: Owner): Charge | undefined {
    return hand.kind === "body" || hand.kind === "outcome" ? chargeOf(hand.action) : undefined;
  }

  #isTransactional(step: string): boolean {
    return this.#run.shape.steps.some(({ name, transactional }) => name === step && transactional);
  }

  #append(journal: Journal, what: string, entries: () => readonly Entry[]): Appended {
    return this.#journals.append(journal, remembered(journal, what, entries), this.#world.deadline);
  }

  #without(owner: Owner): World {
    return { ...this.#world, owners: this.#world.owners.filter((other) => other !== owner) };
  }

  #with(world: World, owner: Owner): World {
    return { ...world, owners: [...world.owners, owner] };
  }

  #disturb(kind: Disturbance, move: () => Move): void {
    this.#disturbed(kind, () => {
      const { to, ...rest } = move();
      this.#add({ ...rest, to: { ...to, left: this.#world.left - 1 } });
    });
  }

  #disturbed(kind: Disturbance, moves: (world: World) => void): void {
    if (this.#world.left > 0 && this.#run.kinds.has(kind)) moves({ ...this.#world, left: this.#world.left - 1 });
  }

  #add(move: Move): void {
    this.found.push(this.#actor === undefined ? move : { ...move, label: `${this.#actor} ${move.label}` });
  }
}
