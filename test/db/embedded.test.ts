// The embedded default (design 3.4) on real processes.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { embeddedDirectory, ensureEmbedded, stopEmbedded } from "../../src/store/embedded.js";

const base = mkdtempSync("/tmp/rubicon-embedded-test-");
const folder = join(base, "deep", ".rubicon");

afterAll(async () => {
  await stopEmbedded(folder);
  rmSync(base, { recursive: true, force: true });
});

async function ask(url: string, text: string) {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("a folder becomes a database without anything installed, also where only root may enter", async () => {
  const url = await ensureEmbedded(folder);
  expect(await ask(url, "select current_setting('listen_addresses') as tcp")).toEqual([{ tcp: "" }]);
});

test("embedded:DIR names a folder, and nothing else does", () => {
  expect(embeddedDirectory("embedded:./.rubicon")).toBe(join(process.cwd(), ".rubicon"));
  expect(embeddedDirectory("postgres://x")).toBeUndefined();
});
