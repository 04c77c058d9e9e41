// WHAT EVERY JOURNAL HAS TO DO, said once and run on each. A journal that passes can stand under any executor.

import { afterAll, beforeAll, describe } from "vitest";
import { describeAppending } from "./journal/appending.js";
import { JournalBench, type OpenJournal } from "./journal/bench.js";
import { describeListing } from "./journal/listing.js";
import { describeReading } from "./journal/reading.js";
import { describeStarting } from "./journal/starting.js";
import { describeValues } from "./journal/values.js";

export type { OpenJournal };

/** Describes the suite. `open` gives a journal that nobody else writes to. */
export function describeJournal(name: string, open: () => Promise<OpenJournal>): void {
  describe(`the journal ${name}`, () => {
    const bench = new JournalBench();
    beforeAll(() => bench.open(open()));
    afterAll(() => bench.close());

    describeStarting(bench);
    describeAppending(bench);
    describeReading(bench);
    describeValues(bench);
    describeListing(bench);
  });
}
