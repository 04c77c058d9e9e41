// LONGER SAGAS, too many to explore: random ones, walked at random with more disturbances, then left alone until they end.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Row } from "../../src/core/entry.js";
import { foldRows } from "../../src/core/fold.js";
import { checkJournal } from "../../src/core/rules.js";
import { initialState, type RunState } from "../../src/core/state.js";
import { rowFacts } from "../../src/journal/pg-rows.js";
import { faultsOfMove } from "./explore.js";
import { isLong } from "./exploring.js";
import { faultsOf } from "./faults.js";
import { Journals } from "./journals.js";
import { movesOf } from "./moves.js";
import type { Move } from "./scene.js";
import { type Explored, explored, now } from "./shapes.js";
import { newWorld, type World } from "./world.js";

const before = fc.array(fc.constantFrom("c", "c?", "ct", "cn", "c1", "c*", "cn?", "c1?"), { maxLength: 5 });
const pivot = fc.constantFrom("P", "P?", "Pt", "P*", "P1", "P1?", "Pt*");
const after = fc.array(fc.constantFrom("r", "r?", "rt", "r*", "r1"), { maxLength: 4 });
const sagas = fc
  .oneof(
    before,
    fc.tuple(before, pivot, after).map(([first, middle, last]) => [...first, middle, ...last]),
  )
  .filter((marks) => marks.length > 0)
  .map((marks) => marks.join(" "));

const walks = fc.record({
  saga: sagas,
  peer: fc.constantFrom("tombstones" as const, "bounded" as const),
  disturbances: fc.integer({ min: 0, max: 8 }),
  choices: fc.infiniteStream(fc.nat()),
  length: fc.integer({ min: 10, max: 120 }),
});

interface Walk {
  readonly run: Explored;
  readonly world: World;
  readonly rows: readonly Row[];
  readonly trace: readonly string[];
}

/** Takes `length` moves at random, then only such as lead to an end when nobody disturbs the run any more. */
function walk({
  saga,
  peer,
  disturbances,
  choices,
  length,
}: typeof walks extends fc.Arbitrary<infer T> ? T : never): Walk {
  const zombies = peer === "tombstones" ? (["takeover"] as const) : [];
  const kinds = ["crash", "shutdown", "cancel", "deadline", "retry", "resolve", "lost answer", ...zombies] as const;
  const run = explored(saga, { peer, disturbances, kinds });
  const journals = new Journals(run, { merged: false });
  let world = newWorld(run, journals.empty);
  const rows: Row[] = [];
  const trace: string[] = [];
  for (let steps = 0; steps < 2_000; steps += 1) {
    const moves = movesOf(run, journals, world);
    const possible = steps < length ? moves : leadingOn(moves, world);
    if (possible.length === 0) break;
    const move = possible[choices.next().value! % possible.length]!;
    trace.push(move.label);
    if (move.appended !== undefined) rows.push(move.appended.row);
    world = move.to;
    expect([...faultsOfMove(move), ...faultsOf(run, world)], `[${saga}]\n${trace.join("\n")}`).toEqual([]);
  }
  return { run, world, rows, trace };
}

function leadingOn(moves: readonly Move[], world: World): readonly Move[] {
  const undisturbed = moves.filter(({ to }) => to.left === world.left);
  const lasting = undisturbed.filter(({ temporary }) => temporary !== true);
  return lasting.length > 0 ? lasting : undisturbed;
}

const parameters = { numRuns: isLong ? 100_000 : 10_000 };

describe("a walk through a saga of up to ten steps", { timeout: isLong ? 3_600_000 : 120_000 }, () => {
  test("breaks no rule, and ends once it is left alone", () => {
    fc.assert(
      fc.property(walks, (chosen) => {
        const { world, trace } = walk(chosen);
        expect(world.journal.state.finished, trace.join("\n")).toBeDefined();
        expect(world.owners).toEqual([]);
      }),
      parameters,
    );
  });

  test("leaves a journal whose raw rows pass the rules", () => {
    fc.assert(
      fc.property(walks, (chosen) => {
        const { run, rows } = walk(chosen);
        expect(checkJournal(run.shape, rows)).toEqual([]);
      }),
      { numRuns: parameters.numRuns / 5 },
    );
  });

  test("can be read without the failed attempts that a journal leaves out because a later one has their totals", () => {
    fc.assert(
      fc.property(walks, (chosen) => {
        const { run, rows } = walk(chosen);
        expect(read(run, withoutSuperseded(rows))).toEqual(read(run, rows));
      }),
      { numRuns: parameters.numRuns / 5 },
    );
  });
});

/** When a run would be due that is driven, or has ended, tells nobody anything. */
function read({ shape }: Explored, rows: readonly Row[]): RunState {
  const state = foldRows(shape, initialState(shape, now), rows);
  return state.owner === undefined && state.finished === undefined ? state : { ...state, dueAt: 0 };
}

/** What is left when a later row of the same kind, with no owner lost in between, makes a row superfluous. */
function withoutSuperseded(rows: readonly Row[]): readonly Row[] {
  const facts = rows.map(({ entries }) => rowFacts(entries));
  return rows.filter((_row, index) => {
    const { onlyLast } = facts[index]!;
    if (onlyLast === undefined) return true;
    const untilLoss = facts.slice(index + 1);
    const loss = untilLoss.findIndex((later) => later.loss);
    return !(loss < 0 ? untilLoss : untilLoss.slice(0, loss)).some((later) => later.onlyLast === onlyLast);
  });
}
