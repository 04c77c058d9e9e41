// A SAGA AS PEOPLE READ IT.

import { describe, expect, it } from "vitest";
import { defineSaga } from "../../../src/definition/define-saga.js";
import { describeSaga } from "../../../src/definition/describe.js";
import { named, pivot, step } from "../../../src/definition/step.js";
import { defineFunction } from "../../../src/functions/define-function.js";

const reserve = step({ name: "reserve-stock", run: () => ({}), compensate: () => {} });
const price = step({ name: "price", run: () => ({}), nothingToUndo: true, transaction: true });
const charge = pivot({ name: "charge-card", run: () => ({}), reconcile: () => undefined });
const mail = step({ name: "mail", run: () => ({}) });

const order = defineSaga({
  name: "fulfil-order",
  version: 2,
  steps: [reserve, price, charge, mail, named(mail, "mail-billing", { into: "billing" })],
  maxDuration: "2h",
});

describe("a described saga", () => {
  it("shows each step, its kind, how it is undone, and the line that is the pivot", () => {
    expect(describeSaga(order).text).toBe(
      [
        "fulfil-order, version 2, at most 2h to the pivot",
        "",
        "  1. reserve-stock  compensatable  undone by its compensation",
        "  2. price          compensatable  nothing to undo, transactional: never in doubt",
        "  ════ the point of no return: a stop is refused from here on ════",
        "  3. charge-card    pivot          in doubt: asks reconcile",
        "  4. mail           retriable",
        '  5. mail-billing   retriable      gives "billing"',
      ].join("\n"),
    );
  });

  it("says of a function that its code decides", () => {
    const { text, mermaid } = describeSaga(defineFunction({ name: "onboarding", version: 1, run: () => 1 }));
    expect(text).toBe("onboarding, version 1\n\n  a function: its steps are what its code asks for");
    expect(mermaid).toBe(
      [
        "flowchart TD",
        '  start(["onboarding, version 1"])',
        '  function["a function: its steps are what its code asks for"]',
        "  start --> function",
        '  function --> completed(["completed"])',
      ].join("\n"),
    );
  });

  it("says that there is no point of no return where there is none", () => {
    const { text, mermaid } = describeSaga(
      defineSaga({ name: "trip", version: 1, steps: [reserve], maxDuration: "1d" }),
    );
    expect(text).toBe(
      [
        "trip, version 1, at most 1d to its end",
        "",
        "  1. reserve-stock  compensatable  undone by its compensation",
        "  (no pivot: can be stopped until its last step is recorded)",
      ].join("\n"),
    );
    expect(mermaid).not.toContain("no return");
  });

  it("keeps its columns from the tenth step on", () => {
    const steps = Array.from({ length: 10 }, (_, index) => named(reserve, `step-${index}`));
    const lines = describeSaga(defineSaga({ name: "long", version: 1, steps })).text.split("\n");
    expect(lines[0]).toBe("long, version 1");
    expect(lines[2]).toBe("   1. step-0  compensatable  undone by its compensation");
    expect(lines[11]).toBe("  10. step-9  compensatable  undone by its compensation");
  });

  it("is a Mermaid flowchart whose thick line leads to the pivot", () => {
    expect(describeSaga(order).mermaid).toBe(
      [
        "flowchart TD",
        '  start(["fulfil-order, version 2, at most 2h to the pivot"])',
        '  step1["reserve-stock<br/>compensatable<br/>undone by its compensation"]',
        '  step2["price<br/>compensatable<br/>nothing to undo, transactional: never in doubt"]',
        '  step3{{"charge-card<br/>pivot<br/>in doubt: asks reconcile"}}:::pivot',
        '  step4["mail<br/>retriable"]',
        '  step5["mail-billing<br/>retriable<br/>gives #34;billing#34;"]',
        "  start --> step1",
        "  step1 --> step2",
        '  step2 == "the point of no return" ==> step3',
        "  step3 --> step4",
        "  step4 --> step5",
        '  step5 --> completed(["completed"])',
        "  classDef pivot stroke-width:4px",
      ].join("\n"),
    );
  });

  it.each<[string, string]>([
    ['say "hi"', "say #34;hi#34;"],
    ["a#b;c", "a#35;b#59;c"],
    ["<b>&", "#60;b#62;#38;"],
    ["`code`", "#96;code#96;"],
    ["[x]{y}|z", "#91;x#93;#123;y#125;#124;z"],
    ["*bold* ~~x~~", "#42;bold#42; #126;#126;x#126;#126;"],
    ["- list", "#45; list"],
    ["_x", "#95;x"],
    ["1. first", "1#46; first"],
    ["v1.2", "v1.2"],
    ["Größe 日本 🙂", "Größe 日本 #128578;"],
  ])("can't be broken by the name %s", (name, label) => {
    const saga = defineSaga({ name, version: 1, steps: [named(reserve, name)] });
    const lines = describeSaga(saga).mermaid.split("\n");
    expect(lines[1]).toBe(`  start(["${label}, version 1"])`);
    expect(lines[2]).toBe(`  step1["${label}<br/>compensatable<br/>undone by its compensation"]`);
  });
});
