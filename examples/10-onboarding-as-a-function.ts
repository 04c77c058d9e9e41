// A SAGA WRITTEN AS CODE: an onboarding whose first email fails. The account is made once, the email goes out on the second
// attempt, and the day of cooling off (here a moment) holds no worker.
// Run it: npx tsx examples/10-onboarding-as-a-function.ts

import { defineFunction, durableExecutor } from "rubicon-saga";
import { z } from "zod";

let emails = 0;

const onboarding = defineFunction({
  name: "onboarding-as-a-function",
  version: 1,
  input: z.object({ email: z.email() }),
  run: async (input, d) => {
    // What is outside of a step is done each time that the function is run from the top.
    console.log("(from the top)");
    const account = await d.step(
      "create-account",
      async ({ key }) => {
        console.log(`account made for ${input.email}`);
        return { accountId: `acc-${key.length}` };
      },
      { compensate: async (undo) => console.log(`account closed (${undo.outcome})`) },
    );
    await d.step(
      "welcome-email",
      async ({ attempt }) => {
        emails += 1;
        if (emails === 1) throw Object.assign(new Error("mail server busy"), { status: 503 });
        console.log(`email sent on attempt ${attempt}`);
        return { sent: emails };
      },
      { nothingToUndo: true, retry: { firstDelay: 50 } },
    );
    await d.sleep("cooling-off", "1500ms");
    await d.pivot("bill", async () => console.log("billing begins: from here on it only goes forward"));
    return { account };
  },
});

await using executor = await durableExecutor({
  sagas: [onboarding],
  database: process.env.DATABASE_URL ?? "embedded:./.rubicon",
  schema: "rubicon_examples",
  migrate: true,
});

const run = await executor.start(onboarding, { email: "ana@example.com" });
const outcome = await run.outcome();
console.log(outcome.status, outcome.status === "completed" && outcome.output.account.accountId.startsWith("acc-"));

const history = await executor.history(run.id);
console.log(history.flatMap(({ entry }) => ("step" in entry ? `${entry.kind} ${entry.step}` : [])).join("\n"));

/* Expected output:
(from the top)
account made for ana@example.com
email sent on attempt 2
(from the top)
billing begins: from here on it only goes forward
completed true
step_completed create-account
attempt_failed welcome-email
step_completed welcome-email
timer_started cooling-off
timer_fired cooling-off
pivot_entered bill
step_completed bill
*/
