// WHAT A LIST SHOWS: each run as its last projection says.

import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/core/entry.js";
import type { Projection } from "../../../src/core/projection.js";
import { isSagaError } from "../../../src/errors/saga-error.js";
import { completed, ended, fresh, type JournalBench, live, shape } from "./bench.js";

export function describeListing(on: JournalBench): void {
  describe("listing", () => {
    it("shows each run as its last projection says", async () => {
      const saga = fresh("saga");
      const header = await on.begin({ saga });
      const shown = async () => (await on.journal.list({ saga, limit: 10 })).lines[0]!;
      expect(await shown()).toMatchObject({
        runId: header.runId,
        saga,
        version: 1,
        shape,
        status: "pending",
        owed: [],
        createdAt: header.createdAt,
      });
      const token = fresh("token");
      await on.journal.append(
        on.offer(header, 1, [on.takenUp({ token })], {
          writer: token,
          projection: { ...live, status: "running", claim: "owned", owner: token },
        }),
      );
      expect((await shown()).status).toBe("running");
      await on.journal.append(on.offer(header, 2, [completed()], { writer: token }));
      expect((await shown()).status).toBe("running");
      const asked: Entry = { kind: "cancel_requested", by: "ana" };
      const cancelRequestedAt = Math.floor(on.journal.now());
      await on.journal.append(
        on.offer(header, 3, [asked], {
          projection: { ...live, status: "running", claim: "owned", owner: token, cancelRequestedAt },
        }),
      );
      expect((await shown()).cancelRequestedAt).toEqual(expect.any(Number));
      const end = { ...ended("compensation_failed"), owed: ["reserve"], cancelRequestedAt };
      await on.journal.append(
        on.offer(header, 4, [{ kind: "finished", status: "compensation_failed" }], { writer: token, projection: end }),
      );
      const last = await shown();
      expect(last).toMatchObject({ status: "compensation_failed", owed: ["reserve"], endedAt: expect.any(Number) });
      expect(last.endedAt).toBeGreaterThanOrEqual(header.createdAt);
      expect(last.cancelRefusedAt).toBeUndefined();
    });

    it("shows a run that began with its start as running, and a reopened one as live", async () => {
      const saga = fresh("saga");
      const { header } = await on.journal.start(on.started({ saga }), { entry: on.takenUp(), nonce: "first" });
      expect((await on.journal.list({ saga, limit: 1 })).lines[0]).toMatchObject({ status: "running" });
      await on.journal.append(
        on.offer(header, 2, [{ kind: "finished", status: "in_doubt" }], { projection: ended("in_doubt") }),
      );
      await on.journal.append(
        on.offer(header, 3, [{ kind: "retried", by: "ana" }], { projection: { ...live, status: "running" } }),
      );
      const reopened = (await on.journal.list({ saga, limit: 1 })).lines[0]!;
      expect(reopened.status).toBe("running");
      expect(reopened.endedAt).toBeUndefined();
    });

    it("pages through all runs once, newest first, while others are started", async () => {
      const saga = fresh("saga");
      const wanted: string[] = [];
      for (let index = 0; index < 5; index += 1) wanted.unshift((await on.begin({ saga })).runId);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await on.journal.list({ saga, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
        expect(page.lines.length).toBeLessThanOrEqual(2);
        seen.push(...page.lines.map((each) => each.runId));
        cursor = page.cursor;
        await on.begin({ saga });
      } while (cursor !== undefined);
      expect(seen).toEqual(wanted);
    });

    it("by status and saga", async () => {
      const saga = fresh("saga");
      const [first, second] = [await on.begin({ saga }), await on.begin({ saga })];
      await on.journal.append(
        on.offer(first, 1, [{ kind: "finished", status: "cancelled" }], { projection: ended("cancelled") }),
      );
      const ids = async (status: readonly Projection["status"][]) =>
        (await on.journal.list({ saga, status, limit: 9 })).lines.map((each) => each.runId);
      expect(await ids(["cancelled"])).toEqual([first.runId]);
      expect(await ids(["pending", "cancelled"])).toEqual([second.runId, first.runId]);
      expect(await ids(["failed"])).toEqual([]);
      expect((await on.journal.list({ saga: fresh("no saga"), limit: 9 })).lines).toEqual([]);
    });

    it("refuses a cursor that it never gave", async () => {
      for (const cursor of ["", "x", "1; drop table runs", "-1"]) {
        const error = await on.journal.list({ limit: 1, cursor }).catch((thrown: unknown) => thrown);
        expect(isSagaError(error, "cursor.invalid")).toBe(true);
      }
    });
  });
}
