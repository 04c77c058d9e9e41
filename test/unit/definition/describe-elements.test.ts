// THE OTHER ELEMENTS OF A SAGA AS PEOPLE READ THEM.

import { describe, expect, it } from "vitest";
import { child } from "../../../src/definition/child.js";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { describeSaga } from "../../../src/definition/describe.js";
import { forEach } from "../../../src/definition/for-each.js";
import { parallel } from "../../../src/definition/parallel.js";
import { sleep } from "../../../src/definition/sleep.js";
import { named, pivot, step } from "../../../src/definition/step.js";
import { waitForSignal } from "../../../src/definition/wait-for-signal.js";

const hotel = step({ name: "book-hotel", run: () => ({}), compensate: () => {} });
const look = step({ name: "look", run: () => ({}), nothingToUndo: true, when: () => true });
const rows = step({ name: "row", run: () => ({}), nothingToUndo: true, transaction: true });
const mail = step({ name: "mail", run: () => ({}), reconcile: () => undefined });
const invoice = defineSaga({ name: "send-invoice", version: 3, steps: [look] });

const trip = defineSaga({
  name: "trip",
  version: 1,
  steps: [
    look,
    parallel([hotel, named(hotel, "book-car"), child({ name: "visa", saga: invoice, input: () => undefined })]),
    waitForSignal({ name: "approval", within: "48h" }),
    sleep({ name: "night", for: "8h" }),
    forEach({ name: "seats", over: () => [1], step: hotel }),
    forEach({ name: "rows", over: () => [1], step: rows }),
    pivot({ name: "pay", run: () => ({}) }),
    sleep({ name: "hold", for: () => "8h" }),
    forEach({ name: "mails", over: () => [1], step: mail, concurrency: 3 }),
    waitForSignal({ name: "home", signal: "back", within: "1h", onTimeout: "fail" }),
    waitForSignal({ name: "back" }),
    parallel([child({ name: "bill", saga: invoice, input: () => undefined })]),
  ],
});

describe("a described saga", () => {
  it("says of each element what it does, when it runs, how it is undone, and what runs beside it", () => {
    expect(describeSaga(trip).text.split("\n")).toEqual([
      "trip, version 1",
      "",
      "   1. look          compensatable  only when its condition holds, nothing to undo",
      "   2. ┌ book-hotel  compensatable  undone by its compensation, in parallel",
      "   3. │ book-car    compensatable  undone by its compensation, in parallel",
      '   4. └ visa        compensatable  runs the saga send-invoice, version 3, undone by its own compensations, gives "visa", in parallel',
      '   5. approval      compensatable  waits for the signal "approval" for at most 2d, then goes on, gives "approval"',
      "   6. night         compensatable  sleeps 8h",
      '   7. seats         compensatable  for each item, one after the other, each undone by its compensation, gives "seats"',
      '   8. rows          compensatable  for each item, one after the other, nothing to undo, transactional: never in doubt, gives "rows"',
      "  ════ the point of no return: a stop is refused from here on ════",
      "   9. pay           pivot",
      "  10. hold          retriable      sleeps as long as it computes",
      '  11. mails         retriable      for each item, up to 3 at once, in doubt: asks reconcile, gives "mails"',
      '  12. home          retriable      waits for the signal "back" for at most 1h, then fails, gives "home"',
      '  13. back          retriable      waits for the signal "back", gives "back"',
      '  14. [ bill        retriable      runs the saga send-invoice, version 3, gives "bill", in parallel',
    ]);
  });

  it("is a Mermaid flowchart whose parallels stand side by side between a fork and a join", () => {
    const saga = defineSaga({
      name: "trip",
      version: 1,
      steps: [
        parallel([hotel, child({ name: "visa", saga: invoice, input: () => undefined })]),
        parallel([look, sleep({ name: "night", for: "8h" })]),
        waitForSignal({ name: "approval" }),
        parallel([forEach({ name: "rows", over: () => [1], step: rows })]),
        pivot({ name: "pay", run: () => ({}) }),
        parallel([named(mail, "a"), named(mail, "b")]),
      ],
    });
    expect(describeSaga(saga).mermaid.split("\n")).toEqual([
      "flowchart TD",
      '  start(["trip, version 1"])',
      '  fork1(("in parallel"))',
      '  step1["book-hotel<br/>compensatable<br/>undone by its compensation, in parallel"]',
      '  step2[["visa<br/>compensatable<br/>runs the saga send-invoice, version 3, undone by its own compensations, gives #34;visa#34;, in parallel"]]',
      '  join1(("all done"))',
      '  fork3(("in parallel"))',
      '  step3["look<br/>compensatable<br/>only when its condition holds, nothing to undo, in parallel"]',
      '  step4("night<br/>compensatable<br/>sleeps 8h, in parallel")',
      '  join3(("all done"))',
      '  step5("approval<br/>compensatable<br/>waits for the signal #34;approval#34;, gives #34;approval#34;")',
      '  fork6(("in parallel"))',
      '  step6["rows<br/>compensatable<br/>for each item, one after the other, nothing to undo, transactional: never in doubt, gives #34;rows#34;, in parallel"]',
      '  join6(("all done"))',
      '  step7{{"pay<br/>pivot"}}:::pivot',
      '  fork8(("in parallel"))',
      '  step8["a<br/>retriable<br/>in doubt: asks reconcile, in parallel"]',
      '  step9["b<br/>retriable<br/>in doubt: asks reconcile, in parallel"]',
      '  join8(("all done"))',
      "  start --> fork1",
      "  fork1 --> step1 --> join1",
      "  fork1 --> step2 --> join1",
      "  join1 --> fork3",
      "  fork3 --> step3 --> join3",
      "  fork3 --> step4 --> join3",
      "  join3 --> step5",
      "  step5 --> fork6",
      "  fork6 --> step6 --> join6",
      '  join6 == "the point of no return" ==> step7',
      "  step7 --> fork8",
      "  fork8 --> step8 --> join8",
      "  fork8 --> step9 --> join8",
      '  join8 --> completed(["completed"])',
      "  classDef pivot stroke-width:4px",
    ]);
  });
});
