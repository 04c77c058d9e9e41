// WAITING ON A CONDITION, never for a time.

/** Polls until `look` gives something truthy; fails after `withinMs` with `what`. */
export async function until<T>(what: string, look: () => T | Promise<T>, withinMs = 20_000): Promise<NonNullable<T>> {
  const endsAt = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
    if (Date.now() > endsAt) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A promise with its handles outside. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void; fail: (error: unknown) => void } {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}
