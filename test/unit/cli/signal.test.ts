// THE COMMAND THAT SENDS A SIGNAL: its verdicts, as text and as JSON, and its exit codes.

import { defineSaga, step, waitForSignal } from "rubicon-saga";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, until } from "../../support/until.js";
import { CommandBench } from "./bench.js";

const asked = defineSaga({
  name: "asked",
  version: 1,
  steps: [
    step({ name: "hold", run: async () => {}, compensate: () => held.promise }),
    waitForSignal({ name: "approval", payload: z.object({ by: z.string() }) }),
    waitForSignal({ name: "delivered" }),
  ],
});
let bench: CommandBench;
let held = gate();
beforeEach(() => {
  held = gate();
  bench = new CommandBench([asked]);
});
const waiting = async (id: string) => {
  const run = await bench.executor.start(asked, undefined, { id });
  await until("it waits", async () => (await bench.executor.get(id))!.status === "waiting");
  return run;
};

describe("rubicon signal", () => {
  it("is done when the run has it, from this call or an earlier one with the same key", async () => {
    const run = await waiting("o-1");
    const send = ["signal", "o-1", "approval", "--payload", '{"by":"ana"}', "--dedupe-key", "k-1"];
    expect(await bench.call(...send)).toMatchObject({ code: 0, out: expect.stringMatching(/^received: approval /) });
    expect(await bench.call(...send)).toMatchObject({ code: 0, out: expect.stringMatching(/^duplicate: o-1 /) });
    expect(JSON.parse((await bench.call("signal", "o-1", "delivered", "--json")).out)).toEqual({
      id: "o-1",
      signal: "delivered",
      verdict: "received",
    });
    expect(await run.outcome()).toMatchObject({
      status: "completed",
      output: { approval: { payload: { by: "ana" } }, delivered: { received: true, payload: undefined } },
    });
  });

  it("SIG-4: exits with 3 when the run had ended, or is being undone", async () => {
    const run = await waiting("o-1");
    await bench.executor.requestCancel("o-1", { by: "ana" });
    expect(await bench.call("signal", "o-1", "delivered")).toMatchObject({
      code: 3,
      out: "rolling_back: o-1 is being undone, because somebody asked to stop; the signal was not sent.\n",
    });
    held.open();
    await run.outcome();
    expect(await bench.call("signal", "o-1", "delivered")).toMatchObject({
      code: 3,
      out: "finished: o-1 has ended cancelled; the signal was not sent.\n",
    });
  });

  it("fails for a run that is not there; a name that nothing waits for, a payload that is no JSON or does not fit are wrong usage", async () => {
    expect(await bench.call("signal", "o-9", "approval")).toMatchObject({
      code: 1,
      err: expect.stringContaining("run.not_found"),
    });
    await waiting("o-1");
    expect(await bench.call("signal", "o-1", "aproval")).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean "approval"?'),
    });
    expect(await bench.call("signal", "o-1", "approval", "--payload", "{")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--payload is not JSON"),
    });
    expect(await bench.call("signal", "o-1", "approval", "--payload", '{"by":7}')).toMatchObject({
      code: 2,
      err: expect.stringContaining("signal.invalid"),
    });
    expect(await bench.call("signal", "o-1")).toMatchObject({ code: 2, err: expect.stringContaining("name") });
  });
});
