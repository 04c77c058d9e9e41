// IDS AND CHANCE. The only reader of the process's randomness.

import { randomBytes, randomUUID } from "node:crypto";

/** Where ids and random numbers come from; tests set their own. */
export interface Chance {
  /** In [0, 1). */
  random(): number;
  /** A fresh unguessable id: owner tokens, nonces, worker ids. */
  id(): string;
  /** A time-ordered id for a run made at `now` (UUIDv7): neighbours in time are neighbours in an index. */
  runId(now: number): string;
}

export const systemChance: Chance = {
  random: () => Math.random(),
  id: () => randomUUID(),
  runId: uuidV7,
};

function uuidV7(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.trunc(now), 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
