// THE FAKE OUTSIDE WORLD keeps the promises that the sagas rely on, in memory and behind HTTP.

import { afterAll, describe, expect, it } from "vitest";
import { type Outside, OutsideError, OutsideWorld } from "../../sagas/outside.js";
import { outsideAt, serveOutside } from "../../sagas/outside-server.js";

const world = new OutsideWorld();
const server = await serveOutside(world);
afterAll(() => server.close());

describe.each<[string, Outside]>([
  ["in memory", world],
  ["behind HTTP", outsideAt(server.url)],
])("an outside world %s", (name, outside) => {
  const run = (id: string) => `${name}-${id}`;
  const status = (call: Promise<unknown>) =>
    call.then(
      () => 200,
      (error: unknown) => (error as OutsideError).status,
    );

  it("does a thing once a key, however often it is asked", async () => {
    const key = `${run("once")}/a`;
    const first = await outside.call("a", { key });
    expect(await outside.call("a", { key })).toEqual(first);
    expect(world.count("a", run("once"))).toBe(2);
    expect(world.standing(run("once"))).toEqual(["a"]);
  });

  it("gives a refusal again under the same key", async () => {
    const key = `${run("refused")}/a`;
    world.refuse("a", run("refused"), "sold out");
    expect(await status(outside.call("a", { key }))).toBe(422);
    expect(await status(outside.call("a", { key }))).toBe(422);
    expect(world.standing(run("refused"))).toEqual([]);
  });

  it("refuses what arrives after it was revoked", async () => {
    const key = `${run("late")}/a`;
    let arrive = () => {};
    world.next("a", run("late"), { before: () => new Promise((resolve) => (arrive = resolve)) });
    const late = status(outside.call("a", { key }));
    await expect.poll(() => world.count("a", run("late"))).toBe(1);
    await outside.revoke(key);
    arrive();
    expect(await late).toBe(410);
    expect(world.standing(run("late"))).toEqual([]);
  });

  it("settles a key: what was done, or nothing for good", async () => {
    const done = `${run("settled")}/a`;
    const receipt = await outside.call("a", { key: done });
    expect(await outside.settle(done)).toEqual(receipt);
    const open = `${run("settled")}/b`;
    expect(await outside.settle(open)).toBeUndefined();
    expect(await status(outside.call("b", { key: open }))).toBe(410);
    expect(await outside.find(open)).toBeUndefined();
  });

  it("loses an answer, and not the effect", async () => {
    const key = `${run("lost")}/a`;
    world.next("a", run("lost"), {
      after: () => {
        throw new OutsideError(503, "answer lost");
      },
    });
    expect(await status(outside.call("a", { key }))).toBe(503);
    expect(await outside.find(key)).toBeDefined();
  });
});

describe("the server", () => {
  it("says what it does not know, and stops waiting when the caller does", async () => {
    expect((await fetch(`${server.url}/nonsense`, { method: "POST", body: "{}" })).status).toBe(404);
    const controller = new AbortController();
    const held = world.hold("a", "aborted");
    const call = outsideAt(server.url).call("a", { key: "aborted/a", signal: controller.signal });
    await held.arrived;
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    held.release();
  });
});
