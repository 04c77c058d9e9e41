// A WIRE THAT CAN BE CUT between a client and the suite's server: what was sent may still arrive after the client has given
// the connection up.

import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

export interface Wire {
  /** The database's URL, through the wire. */
  readonly url: string;
  /**
   * Cuts every connection as soon as the client sends something that contains `text`; what it sent arrives after
   * `arrivesAfterMs` all the same, and is carried out by a server that nobody listens to any more. Once.
   */
  cutWhenSending(text: string, options: { readonly arrivesAfterMs: number }): void;
  /** The server's answers vanish, and nobody is told: a cable pulled out. Until `heal`. */
  silence(): void;
  heal(): void;
  /** Cuts every connection, and refuses new ones until `heal`. */
  down(): void;
  /** Connections that were refused so far. */
  readonly refused: number;
  close(): Promise<void>;
}

export async function wireTo(url: string): Promise<Wire> {
  const folder = mkdtempSync("/tmp/rubicon-wire-");
  const target = join(new URL(url).searchParams.get("host")!, ".s.PGSQL.5432");
  const sockets = new Set<Socket>();
  let trap: { text: string; arrivesAfterMs: number } | undefined;
  let silent = false;
  let refusing = false;
  let refused = 0;
  const server = createServer((client) => {
    if (refusing) {
      refused += 1;
      return client.destroy();
    }
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    client.on("data", (bytes) => {
      if (trap !== undefined && bytes.includes(trap.text)) {
        const { arrivesAfterMs } = trap;
        trap = undefined;
        client.destroy();
        setTimeout(() => upstream.write(bytes), arrivesAfterMs);
        return;
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (!silent && !client.destroyed) client.write(bytes);
    });
    client.on("close", () => setTimeout(() => upstream.end(), 3_000).unref());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(join(folder, ".s.PGSQL.5432"), resolve));
  const at = new URL(url);
  at.searchParams.set("host", folder);
  return {
    url: at.href,
    cutWhenSending: (text, options) => {
      trap = { text, ...options };
    },
    silence: () => {
      silent = true;
    },
    heal: () => {
      silent = false;
      refusing = false;
    },
    get refused() {
      return refused;
    },
    down: () => {
      refusing = true;
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
