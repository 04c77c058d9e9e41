// DOUBT: the call was made and the answer never came. A pivot in doubt is never passed, nor undone, on a guess: `reconcile`
// asks the other side. Three orders: it did happen; it did not; nobody can tell.
// Run it: npx tsx examples/04-doubt-and-reconcile.ts

import { defineSaga, inProcessExecutor, pivot, step, TerminalError } from "rubicon-saga";
import { z } from "zod";

/** A bank that honours idempotency keys, and whose network is bad today. */
class Bank {
  readonly #transfers = new Map<string, "made" | "void">();

  /** `trouble` says what goes wrong with the first call. */
  async transfer(key: string, trouble: string, attempt: number): Promise<string> {
    console.log(`  transfer, attempt ${attempt}`);
    if (this.#transfers.get(key) === "void") throw new TerminalError("this key was voided");
    if (attempt === 1 && trouble === "request lost") throw lostConnection();
    this.#transfers.set(key, "made");
    if (attempt === 1) throw lostConnection();
    return key;
  }

  /** Says whether it happened; if not, voids the key first, so that a request that is still on its way comes too late. */
  async settle(key: string): Promise<"made" | "void"> {
    if (!this.#transfers.has(key)) this.#transfers.set(key, "void");
    return this.#transfers.get(key)!;
  }
}

/** What `fetch` and drivers throw then; not an error that says "it did not happen". */
const lostConnection = () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });

const bank = new Bank();

const blockFunds = step({
  name: "block-funds",
  run: async (_payment: { trouble: string }) => {},
  compensate: async () => console.log("  funds unblocked"),
});

const transfer = pivot({
  name: "transfer",
  run: async (payment: { trouble: string }, { key, attempt }) => ({
    reference: await bank.transfer(key, payment.trouble, attempt),
  }),
  reconcile: async (payment, { key }) => {
    if (payment.trouble === "bank unreachable") return undefined;
    const answer = await bank.settle(key);
    console.log(`  reconcile: ${answer}`);
    return answer === "made" ? { happened: true, output: { reference: key } } : { happened: false };
  },
  // Only so that this example takes no time.
  retry: { firstDelay: "5ms", maxDelay: "5ms" },
});

const payOut = defineSaga({
  name: "pay-out",
  version: 1,
  input: z.object({ trouble: z.enum(["answer lost", "request lost", "bank unreachable"]) }),
  steps: [blockFunds, transfer],
});

await using executor = inProcessExecutor({ sagas: [payOut] });

for (const trouble of ["answer lost", "request lost", "bank unreachable"] as const) {
  console.log(`${trouble}:`);
  const run = await executor.start(payOut, { trouble });
  const outcome = await run.outcome();
  console.log(`  ends ${outcome.status}`);
  if (outcome.status === "in_doubt") {
    const asks = (await executor.history(run.id)).filter(({ entry }) => entry.kind === "reconciled").length;
    console.log(`  after ${asks} asks; somebody has to find out: see example 07`);
  }
}

/* Expected output:
answer lost:
  transfer, attempt 1
  reconcile: made
  ends completed
request lost:
  transfer, attempt 1
  reconcile: void
  transfer, attempt 2
  funds unblocked
  ends failed
bank unreachable:
  transfer, attempt 1
  ends in_doubt
  after 8 asks; somebody has to find out: see example 07
*/
