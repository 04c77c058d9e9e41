// THE FAKE OUTSIDE WORLD BEHIND HTTP, so that several worker processes share one and a killed one loses nothing of it. One
// POST a verb; answers are JSON; a refusal is its status.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Outside, OutsideError, type OutsideRequest, type OutsideWorld, type Receipt } from "./outside.js";

/** Serves `world` on a free port of 127.0.0.1. */
export async function serveOutside(
  world: OutsideWorld,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => void answer(world, request, response));
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** The world that is served at `url`. */
export function outsideAt(url: string): Outside {
  const post = (verb: string, { signal, ...request }: { action?: string } & OutsideRequest) =>
    ask(`${url}/${verb}`, request, signal);
  return {
    call: async (action, request) => (await post("call", { action, ...request }))!,
    find: (key) => post("find", { key }),
    revoke: async (key) => void (await post("revoke", { key })),
    settle: (key) => post("settle", { key }),
  };
}

async function ask(url: string, body: object, signal?: AbortSignal): Promise<Receipt | undefined> {
  const response = await fetch(url, {
    method: "POST",
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const answered = (await response.json()) as { receipt?: Receipt; reason?: string };
  if (!response.ok) throw new OutsideError(response.status, answered.reason ?? `HTTP ${response.status}`);
  return answered.receipt;
}

async function answer(world: OutsideWorld, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  try {
    send(200, { receipt: await perform(world, request.url?.slice(1), await bodyOf(request)) });
  } catch (error) {
    send(error instanceof OutsideError ? error.status : 500, { reason: (error as Error).message });
  }
}

async function perform(
  world: OutsideWorld,
  verb: string | undefined,
  { action, key }: { readonly action: string; readonly key: string },
): Promise<Receipt | undefined> {
  switch (verb) {
    case "call":
      return world.call(action, { key });
    case "find":
      return world.find(key);
    case "revoke":
      await world.revoke(key);
      return undefined;
    case "settle":
      return world.settle(key);
    default:
      throw new OutsideError(404, `no such verb: ${verb}`);
  }
}

async function bodyOf(request: IncomingMessage): Promise<{ readonly action: string; readonly key: string }> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString("utf8"));
}
