// DIGESTS. The only place that hashes.

import { createHash } from "node:crypto";

/**
 * SHA-256 of the text's UTF-8 bytes, in lower-case hex (64 characters). UTF-8 has no lone surrogates: escape them first
 * (`JSON.stringify` does) where two texts that differ only in one must not get the same digest.
 */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
