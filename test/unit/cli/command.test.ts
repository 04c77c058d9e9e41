// THE COMMAND ON RUNS: what it prints, as text and as JSON, and its exit codes.

import { defineSaga, pivot, step, TerminalError } from "rubicon-saga";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../support/until.js";
import { CommandBench } from "./bench.js";

type Mood = "well" | "stuck" | "doubtful" | "owing";
let mood: Mood = "well";
let held = gate();
let reached = gate();
let holdAt: string | undefined;

const arrive = async (name: string, signal: AbortSignal) => {
  if (holdAt !== name) return;
  reached.open();
  await Promise.race([
    held.promise,
    new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))),
  ]);
};

const pack = step({
  name: "pack",
  run: async (order: { pieces: bigint }, { signal }) => {
    await arrive("pack", signal);
    return { packed: order.pieces * 2n, evil: "\u001b[2J\u0007" };
  },
  compensate: async () => {
    if (mood === "owing") throw new TerminalError("the box is glued");
  },
});
const pay = pivot({
  name: "pay",
  run: async (_order: { packed: bigint }, { signal }) => {
    await arrive("pay", signal);
    if (mood === "owing") throw new TerminalError("no money");
    if (mood === "doubtful") throw new TypeError("what was that?");
    return { paid: true };
  },
});
const ship = step({
  name: "ship",
  run: async (_order: { paid: boolean }) => {
    if (mood === "stuck") throw new TerminalError("the van is broken");
  },
});
const order = defineSaga({
  name: "order",
  version: 3,
  input: z.object({ pieces: z.bigint() }),
  steps: [pack, pay, ship],
});

let bench: CommandBench;
beforeEach(() => {
  bench = new CommandBench([order]);
  mood = "well";
  holdAt = undefined;
  held = gate();
  reached = gate();
});

const start = (id: string) => bench.executor.start(order, { pieces: 9_007_199_254_740_993n }, { id });
const ended = async (id: string) => (await (await start(id)).outcome()).status;

describe("rubicon show", () => {
  it("tells a run from its start to its end, the pivot's line drawn", async () => {
    await ended("o-1");
    const { code, out } = await bench.call("show", "o-1");
    const lines = out
      .split("\n")
      .map((line) => line.replace(/^ *\d+\.\d{3}s/, "T").replace(/\d{4}-\d\d-\d\d \S+ UTC|\d+\.\d{3}s/g, "TIME"));
    expect(lines).toEqual([
      "o-1  order v3  completed",
      "made TIME, ended after TIME",
      "input  { pieces: 9007199254740993n }",
      "output { packed: 18014398509481986n, evil: '\\x1B[2J\\x07', paid: true }",
      "",
      "T  ▸ taken up by worker in-process",
      "T  ✓ pack  { packed: 18014398509481986n, evil: '\\x1B[2J\\x07' }",
      "T  ════ pivot pay: a stop is refused from here on ═════════════════════════",
      "T  ✓ pay  { paid: true }",
      "T  ✓ ship",
      "T  ■ completed  { packed: 18014398509481986n, evil: '\\x1B[2J\\x07', paid: true }",
      "",
    ]);
    expect(code).toBe(0);
  });

  it("SER-5 prints bigints in JSON, exactly", async () => {
    await ended("o-1");
    const { out } = await bench.call("show", "o-1", "--json");
    const { run, history } = JSON.parse(out);
    expect(run).toMatchObject({ status: "completed", input: { pieces: "9007199254740993" } });
    expect(history.at(-1).output).toMatchObject({ packed: "18014398509481986" });
  });

  it.each([
    ["stuck", "forward_incomplete", "rubicon resolve o-1 --step ship --as done"],
    ["doubtful", "in_doubt", "rubicon resolve o-1 --step pay --as done|not_done"],
    ["owing", "compensation_failed", "rubicon resolve o-1 --step pack --as undone"],
  ] as const)("says what to do about a run that is %s", async (how, status, remedy) => {
    mood = how;
    expect(await ended("o-1")).toBe(status);
    const { out } = await bench.call("show", "o-1");
    expect(out).toContain(remedy);
    expect(out).toContain("rubicon retry o-1");
  });

  it("quotes an id that a shell would take apart, and lets none steer the terminal", async () => {
    mood = "stuck";
    await ended("o'1 \u001b[2J");
    const { out } = await bench.call("show", "o'1 \u001b[2J");
    expect(out).toContain(`rubicon retry 'o'\\''1 \ufffd[2J' --by YOU`);
    expect(out).not.toContain("\u001b");
  });

  it("shows a run under way: what is next, who asked to stop, who was refused", async () => {
    holdAt = "pay";
    const run = await start("o-1");
    await reached.promise;
    await bench.call("stop", "o-1", "--by", "ana");
    const { out } = await bench.call("show", "o-1");
    expect(out).toMatch(/next +pay, 0 used up, driven by worker in-process/);
    expect(out).toMatch(/stop refused +\d{4}-/);
    held.open();
    await run.outcome();
  });

  it("colours only where that is wanted", async () => {
    await ended("o-1");
    bench.colours = true;
    expect((await bench.call("show", "o-1")).out).toContain("\u001b[32m✓ ship");
  });

  it("says that there is no such run", async () => {
    expect(await bench.call("show", "o-9")).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining('run.not_found: there is no run "o-9"'),
    });
  });
});

describe("rubicon runs", () => {
  it("lists runs, newest first, with what is owed", async () => {
    await ended("o-1");
    mood = "owing";
    await ended("o-2");
    const { out, code } = await bench.call("runs");
    const [heading, second, first] = out.split("\n");
    expect(heading).toMatch(/^RUN +SAGA +STATUS +MADE +TOOK$/);
    expect(second).toMatch(/^o-2 +order v3 +compensation_failed .* owed: pack$/);
    expect(first).toMatch(/^o-1 +order v3 +completed .*s$/);
    expect(code).toBe(0);
  });

  it("filters by several statuses, and pages", async () => {
    for (const id of ["o-1", "o-2", "o-3"]) await ended(id);
    expect((await bench.call("runs", "--status", "failed", "in_doubt")).out).toBe("No runs.\n");
    const page = JSON.parse((await bench.call("runs", "--status", "completed", "--limit", "2", "--json")).out);
    expect(page.runs.map((run: { id: string }) => run.id)).toEqual(["o-3", "o-2"]);
    const text = (await bench.call("runs", "--limit", "2")).out;
    expect(text).toContain(`More: --cursor ${page.cursor}`);
    expect((await bench.call("runs", "--cursor", page.cursor)).out).toMatch(/\no-1 /);
  });

  it("filters by attributes: a JSON number, true, false or quoted string is that, anything else a string", async () => {
    const start = (id: string, attributes: Record<string, string | number | boolean>) =>
      bench.executor.start(order, { pieces: 1n }, { id, attributes, startAt: new Date(Date.now() + 3_600_000) });
    await start("o-1", { customer: "c=1", total: 5, vip: true });
    await start("o-2", { customer: "c=1", total: "5", vip: false });
    const found = async (...filters: string[]) =>
      JSON.parse(
        (await bench.call("runs", "--json", ...filters.flatMap((each) => ["--attribute", each]))).out,
      ).runs.map((run: { id: string }) => run.id);
    expect(await found("customer=c=1")).toEqual(["o-2", "o-1"]);
    expect(await found("customer=c=1", "vip=true")).toEqual(["o-1"]);
    expect(await found("total=5")).toEqual(["o-1"]);
    expect(await found('total="5"')).toEqual(["o-2"]);
    expect(await found("customer=c")).toEqual([]);
    expect((await bench.call("show", "o-1")).out).toMatch(/found by +\{.*customer.*c=1.*\}/);
    for (const wrong of ["customer", "=x"])
      expect(await bench.call("runs", "--attribute", wrong)).toMatchObject({
        code: 2,
        err: expect.stringContaining("key=value"),
      });
  });

  it("refuses a status that there is not, and a cursor that no page gave", async () => {
    expect(await bench.call("runs", "--status", "done")).toMatchObject({
      code: 2,
      err: expect.stringContaining("Allowed choices are"),
    });
    expect(await bench.call("runs", "--cursor", "x y")).toMatchObject({
      code: 2,
      err: expect.stringContaining("cursor.invalid"),
    });
    expect(await bench.call("runs", "--limit", "0")).toMatchObject({ code: 2 });
  });
});

describe("rubicon stop", () => {
  it("is done when the run is being stopped, and says the verdict", async () => {
    holdAt = "pack";
    const run = await start("o-1");
    await reached.promise;
    expect(await bench.call("stop", "o-1", "--by", "ana", "--reason", "late")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^cancelling: /),
    });
    expect((await run.outcome()).status).toBe("cancelled");
    expect((await bench.call("show", "o-1")).out).toContain("◆ ana asked to stop (late)");
    expect(await bench.call("stop", "o-1", "--by", "bo")).toMatchObject({
      code: 0,
      out: "finished: o-1 has ended cancelled.\n",
    });
  });

  it("exits with 3 when it is refused, naming the pivot, and when the run had ended", async () => {
    holdAt = "pay";
    const run = await start("o-1");
    await reached.promise;
    const { code, out } = await bench.call("stop", "o-1", "--by", "ana");
    expect({ code, out }).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^refused: o-1 entered its pivot pay .*cancel_refused_at \d{4}-/),
    });
    expect(JSON.parse((await bench.call("stop", "o-1", "--by", "ana", "--json")).out)).toMatchObject({
      id: "o-1",
      verdict: "refused",
      pivot: "pay",
    });
    held.open();
    await run.outcome();
    expect(await bench.call("stop", "o-1", "--by", "ana")).toMatchObject({
      code: 3,
      out: "finished: o-1 has ended completed.\n",
    });
  });

  it("fails for a run that is not there, and wants to know who asks", async () => {
    expect(await bench.call("stop", "o-9", "--by", "ana")).toMatchObject({
      code: 1,
      err: expect.stringContaining("run.not_found"),
    });
    expect(await bench.call("stop", "o-9")).toMatchObject({ code: 2, err: expect.stringContaining("--by") });
  });
});

describe("rubicon retry and resolve", () => {
  it("try again what failed, once it is mended", async () => {
    mood = "stuck";
    const run = await start("o-1");
    await run.outcome();
    mood = "well";
    expect(await bench.call("retry", "o-1", "--by", "cy")).toMatchObject({ code: 0 });
    expect((await run.outcome()).status).toBe("completed");
  });

  it("are refused with 3 where they don't apply", async () => {
    await ended("o-1");
    expect(await bench.call("retry", "o-1", "--by", "cy")).toMatchObject({
      code: 3,
      err: expect.stringContaining("retry.not_applicable: "),
    });
    expect(await bench.call("resolve", "o-1", "--step", "pay", "--as", "done", "--by", "cy")).toMatchObject({
      code: 3,
    });
    expect(await bench.call("retry", "o-9", "--by", "cy")).toMatchObject({ code: 1 });
  });

  it("settle a step with its output", async () => {
    mood = "doubtful";
    const run = await start("o-1");
    await run.outcome();
    mood = "well";
    const output = '{"paid":true}';
    expect(
      await bench.call(
        "resolve",
        "o-1",
        "--step",
        "pay",
        "--as",
        "done",
        "--output",
        output,
        "--by",
        "cy",
        "--note",
        "bank",
      ),
    ).toMatchObject({
      code: 0,
      out: "pay of o-1 is settled as done.\n",
    });
    expect((await run.outcome()).status).toBe("completed");
    expect((await bench.call("show", "o-1")).out).toContain("◆ cy settled pay as done (bank)");
  });

  it("refuse what is no JSON, and an output of what did not happen", async () => {
    const resolve = ["resolve", "o-1", "--step", "pay", "--by", "cy"];
    expect(await bench.call(...resolve, "--as", "done", "--output", "{")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--output is not JSON"),
    });
    expect(await bench.call(...resolve, "--as", "undone", "--output", "{}")).toMatchObject({ code: 2 });
    expect(await bench.call(...resolve, "--as", "perhaps")).toMatchObject({ code: 2 });
  });
});

describe("rubicon", () => {
  it("speaks to what it is told: options, then DATABASE_URL, then the embedded database", async () => {
    await bench.call("runs");
    expect(bench.target).toEqual({ database: "postgres://ana:secret@db.example/shop", schema: "rubicon", tenant: "" });
    await bench.call("--schema", "s", "runs", "--database", "postgres://x", "--tenant", "t");
    expect(bench.target).toEqual({ database: "postgres://x", schema: "s", tenant: "t" });
    await bench.call("runs", "--embedded", "tmp");
    expect(bench.target?.database).toBe("embedded:/tmp");
    expect(await bench.call("runs", "--embedded", "a", "--database", "b")).toMatchObject({ code: 2 });
    bench.env = {};
    expect(await bench.call("runs")).toMatchObject({
      code: 1,
      err: expect.stringContaining("embedded.absent: there is no embedded database in /.rubicon"),
    });
  });

  it("explains itself", async () => {
    expect(await bench.call("--help")).toMatchObject({ code: 0, out: expect.stringContaining("Exit codes: 0 done") });
    expect(await bench.call("--version")).toMatchObject({ code: 0, out: "0.1.0\n" });
    expect(await bench.call("rnus")).toMatchObject({ code: 2, err: expect.stringContaining("Did you mean runs?") });
  });

  it("tells failures as JSON where that is asked for, wrong usage too", async () => {
    const error = async (...argv: string[]) => JSON.parse((await bench.call(...argv, "--json")).err).error;
    expect(await error("show", "o-9")).toMatchObject({ code: "run.not_found" });
    expect(await error("stop", "o-9")).toMatchObject({ code: "usage" });
    expect(await error("doctor")).toMatchObject({ message: "no store in this test" });
  });

  it("shows a stack only with --debug", async () => {
    const { err } = await bench.call("doctor");
    expect(err).toBe("error: no store in this test\n  Run it again with --debug to see where it comes from.\n");
    expect((await bench.call("doctor", "--debug")).err).toContain("    at ");
  });
});
