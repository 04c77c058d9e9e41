// SAGAS IN THIS PROCESS, without a database: the same core, loop and verbs over a journal in memory. A peer of the durable
// executor in all but survival: when the process dies, its runs are gone.

import { Values } from "../journal/codec.js";
import { MemoryJournal } from "../journal/memory-journal.js";
import type { SagaExecutor } from "./executor.js";
import { InProcessDriver } from "./in-process-driver.js";
import { JournalExecutor } from "./journal-executor.js";
import { MemoryScheduleBook } from "./memory-schedule-book.js";
import { type InProcessOptions, parseInProcessOptions, policyOptions } from "./options.js";
import { Registry } from "./registry.js";
import { readDeclared } from "./schedule-options.js";
import { putDeclared } from "./scheduling.js";
import { Waiters } from "./waiting.js";

/**
 * Runs sagas in this process. Nothing survives it: use it for tests, scripts and development, and `durableExecutor` where
 * money moves. It keeps the journals of all its runs, and what waits keeps the process alive, until it is dropped and closed.
 *
 * @throws OptionsInvalidError, UsageError `saga.duplicate`, `executor.unsupported` (a transactional step needs a database)
 */
export function inProcessExecutor(options: InProcessOptions): SagaExecutor {
  const parsed = parseInProcessOptions(options);
  const { sagas, logger, classifyError, maxValueBytes, codec } = parsed;
  const { clock, chance } = parsed.platform;
  const journal = new MemoryJournal({ clock, chance });
  const values = new Values({ maxValueBytes, ...(codec === undefined ? {} : { codec }) });
  const { encode, decode } = values;
  const registry = new Registry(sagas, { transactions: false });
  const waiters = new Waiters();
  const hooks = new InProcessDriver({
    driving: {
      journal,
      clock,
      chance,
      logger,
      worker: () => "in-process",
      policies: policyOptions(parsed),
      performTools: { clock, logger, encode, decode, ...(classifyError === undefined ? {} : { classifyError }) },
      mayStart: async () => {},
      onAbandoned: (run) =>
        logger.warn(run, "a body outlived its grace and was abandoned; what it still does is dropped"),
    },
    registry,
    policies: policyOptions(parsed),
    waiters,
    journal,
    values,
  });
  const schedules = readDeclared(registry.all);
  const book = new MemoryScheduleBook({
    journal,
    begin: (start) => hooks.begin(start, { soon: false }),
    clock,
    logger,
  });
  const declared = putDeclared(schedules, { book, values });
  // Whoever uses schedules hears of it, too.
  declared.catch((error: unknown) => logger.error({ err: error }, "a schedule that a saga declares could not be put"));
  const parts = { journal, registry, values, clock, chance, waiters, hooks };
  return new JournalExecutor({ ...parts, schedules: { book, declared, close: () => book.close() } });
}
