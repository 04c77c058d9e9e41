// THE COMMAND ON SCHEDULES: what it prints, as text and as JSON, and its exit codes.

import { defineSaga, firingOf, step } from "rubicon-saga";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, until } from "../../support/until.js";
import { CommandBench } from "./bench.js";

let held = gate();
const report = defineSaga({
  name: "report",
  version: 2,
  input: z.object({ wait: z.boolean().default(false) }),
  steps: [
    step({
      name: "write",
      nothingToUndo: true,
      run: async ({ wait }: { wait: boolean }) => {
        if (wait) await held.promise;
      },
    }),
  ],
});

let bench: CommandBench;
beforeEach(() => {
  bench = new CommandBench([report]);
  held = gate();
  return async () => {
    held.open();
    await bench.executor.close();
  };
});

const nightly = { id: "nightly", target: report, input: {}, cron: "0 3 1 1 *", timeZone: "Europe/Berlin" } as const;
/** Instants, years, and what makes a trigger unique. */
const masked = (text: string) => text.replace(/\d{4}-\d\d-\d\d[ T][\d:.]+(Z| UTC)/g, "TIME").replace(/~\w+/g, "~X");

describe("rubicon schedules", () => {
  it("lists them with what they start, when, next and last", async () => {
    expect(await bench.call("schedules")).toMatchObject({ code: 0, out: "No schedules.\n" });
    await bench.executor.schedules.put(nightly);
    await bench.executor.schedules.put({ id: "often", target: report, input: {}, every: "90m" });
    await bench.executor.schedules.pause("often");
    await (await bench.executor.schedules.trigger("nightly")).outcome();
    const { code, out } = await bench.call("schedules");
    expect({
      code,
      lines: masked(out)
        .split("\n")
        .map((line) => line.split(/ {2,}/)),
    }).toEqual({
      code: 0,
      lines: [
        ["SCHEDULE", "STARTS", "WHEN", "NEXT", "LAST"],
        ["nightly", "report v2", "0 3 1 1 * Europe/Berlin", "TIME", "TIME"],
        ["often", "report v2", "every 90m", "paused"],
        [""],
      ],
    });
    const { schedules } = JSON.parse((await bench.call("schedules", "--json")).out);
    expect(schedules.map((each: { id: string }) => each.id)).toEqual(["nightly", "often"]);
    expect(schedules[0]).toMatchObject({ saga: "report", paused: false, nextFiring: expect.any(String) });
  });

  it("says which firing was let go, and why", async () => {
    const often = { id: "often", target: report, input: { wait: true }, every: "1s", overlap: "skip" } as const;
    await bench.executor.schedules.put(often);
    await until("one was let go", async () => (await bench.executor.schedules.get("often"))?.lastSkipped !== undefined);
    expect(masked((await bench.call("schedules")).out)).toContain("let go: TIME, a run was live");
  });

  it("pauses, resumes, fires and removes one", async () => {
    await bench.executor.schedules.put(nightly);
    expect(await bench.call("schedules", "pause", "nightly")).toMatchObject({
      code: 0,
      out: "nightly is paused: it does not fire until it is resumed.\n",
    });
    expect((await bench.executor.schedules.get("nightly"))?.paused).toBe(true);
    const fired = await bench.call("schedules", "trigger", "nightly", "--json");
    expect(firingOf(JSON.parse(fired.out).runId)).toMatchObject({ schedule: "nightly", triggered: true });
    expect(masked((await bench.call("schedules", "trigger", "nightly")).out)).toBe(
      "Fired nightly: run nightly@TIME~X\n",
    );
    expect(masked((await bench.call("schedules", "resume", "nightly")).out)).toBe(
      "nightly goes on; next firing: TIME.\n",
    );
    expect(await bench.call("schedules", "remove", "nightly")).toMatchObject({
      code: 0,
      out: "nightly is removed; runs that it started go on.\n",
    });
    expect(await bench.executor.schedules.get("nightly")).toBeUndefined();
  });

  it("says so when there is none of that name", async () => {
    for (const verb of ["pause", "resume", "trigger", "remove"])
      expect(await bench.call("schedules", verb, "nobody")).toMatchObject({
        code: 1,
        err: expect.stringContaining('schedule.not_found: there is no schedule "nobody" in this database'),
      });
    expect(await bench.call("schedules", "puase", "x")).toMatchObject({ code: 2 });
  });
});
