// What the snippets take for granted: a warehouse, a card processor and a post office, all fakes that do what is asked.

interface Call {
  readonly idempotencyKey: string;
  readonly signal?: AbortSignal;
}

const made = new Map<string, string>();

async function once(kind: string, { idempotencyKey }: Call): Promise<string> {
  if (!made.has(idempotencyKey)) made.set(idempotencyKey, `${kind}-${made.size + 1}`);
  return made.get(idempotencyKey)!;
}

export const stock = {
  reserve: (_sku: string, _quantity: number, call: Call) => once("reservation", call),
  /** Releases what was reserved under that key, if anything, and refuses a late reservation under it. */
  releaseMadeWith: async (key: string) => void made.delete(key),
};

export const cards = {
  charge: (_cents: number, call: Call) => once("charge", call),
  find: async (key: string) => (made.has(key) ? { id: made.get(key)! } : undefined),
};

export const post = { ship: (_orderId: string, call: Call) => once("parcel", call) };
