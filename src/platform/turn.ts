// A TURN OF THE EVENT LOOP: by its end everything has happened that needed nothing from outside.

/** Resolves when all that awaits only what is there already has gone on. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
