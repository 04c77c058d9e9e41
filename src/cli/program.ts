// THE COMMANDS AND THEIR FLAGS, as commander parses them. What each does is in its own file.

import { createRequire } from "node:module";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Attributes } from "../index.js";
import { diagram } from "./commands/diagram.js";
import { doctor } from "./commands/doctor.js";
import { embeddedUrl, stopEmbeddedServer } from "./commands/embedded.js";
import { migrate } from "./commands/migrate.js";
import { resolve, retry, signal, stop } from "./commands/operate.js";
import { runs, statuses } from "./commands/runs.js";
import { listSchedules, pauseSchedule, removeSchedule, resumeSchedule, triggerSchedule } from "./commands/schedules.js";
import { show } from "./commands/show.js";
import { worker } from "./commands/worker.js";
import { demo } from "./demo/demo.js";
import type { ExitCode } from "./failure.js";
import type { Doors, Invocation } from "./invocation.js";
import type { Io } from "./io.js";

export interface ProgramOptions {
  readonly io: Io;
  readonly doors: Doors;
  /** Takes the exit code of the command that ran. */
  readonly ended: (code: ExitCode) => void;
}

export function program({ io, doors, ended }: ProgramOptions): Command {
  const root = new Command("rubicon")
    .description("Crash-resumable sagas on Postgres: run workers, look at runs, stop them truthfully.")
    .version(packageVersion())
    .option(
      "--database <url>",
      "the database: a connection string, or embedded:DIR (default: $DATABASE_URL, else embedded:./.rubicon)",
    )
    .option("--embedded <dir>", "the embedded database of a folder; the same as --database embedded:DIR")
    .option("--schema <name>", 'the schema of the tables (default: "rubicon")')
    .option("--tenant <name>", "the tenant whose runs are meant (default: none; a worker: everybody's)")
    .option("--json", "print the result as JSON; numbers that JSON can't hold are strings")
    .option("--debug", "print stacks of errors")
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("Add --help to see what there is.")
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 refused (a stop past the pivot, a verb that does not apply).",
    );

  /** Runs a command with everything that it needs; its flags are the last but one argument that commander gives. */
  const run =
    <Args extends unknown[]>(command: (invocation: Invocation, ...args: Args) => Promise<ExitCode>) =>
    async (...args: [...Args, Command]) =>
      ended(await command({ io, doors, options: root.opts() }, ...(args.slice(0, -1) as Args)));

  root.command("demo").description("see it work: a crash, a rollback, two stops; needs no database").action(run(demo));
  root
    .command("migrate")
    .description("create the schema, or bring it up to date")
    .option("--print", "print the SQL instead, for those who apply it by other means")
    .action(run(migrate));
  root
    .command("worker")
    .description("drive runs until Ctrl-C or SIGTERM")
    .requiredOption("--sagas <file>", "the built JavaScript file that exports your sagas")
    .option("--slots <number>", "how many runs to drive at once (default: 100)", wholeNumber)
    .option("--grace <duration>", "how long running steps may take when the worker ends", duration, "10s")
    .option("--migrate", "bring the schema up to date first (the embedded one always is)")
    .addOption(
      new Option("--log-level <level>", "what to log, to stderr")
        .choices(["debug", "info", "warn", "error", "silent"])
        .default("info"),
    )
    .action(run(worker));
  root
    .command("runs")
    .description("list runs, newest first")
    .addOption(new Option("--status <status...>", "only these").choices(statuses))
    .option("--saga <name>", "only of this saga")
    .option("--attribute <key=value>", "only with this attribute; again for each one more", attribute, {})
    .option("--limit <number>", "how many", wholeNumber, 50)
    .option("--cursor <cursor>", "the next page, as the page before says")
    .action(run(runs));
  root.command("show <run>").description("all that happened to a run, as a timeline").action(run(show));
  root
    .command("stop <run>")
    .description("ask a run to stop; the verdict is final. Exit code 3: it was refused, or the run had ended")
    .requiredOption("--by <who>", "who asks")
    .option("--reason <text>", "why")
    .action(run(stop));
  root
    .command("signal <run> <name>")
    .description(
      "send a signal that the run waits for, or will. Exit code 3: it was refused, the run is undone or has ended",
    )
    .option("--payload <json>", "what is sent with it (default: nothing)")
    .option("--dedupe-key <key>", "a second signal with the same key changes nothing")
    .action(run(signal));
  root
    .command("retry <run>")
    .description("try what failed again, with a fresh budget; a run that waits to be tried again: now")
    .requiredOption("--by <who>", "who asks")
    .action(run(retry));
  root
    .command("resolve <run>")
    .description("record that a person settled a step")
    .requiredOption("--step <name>", "which step")
    .addOption(
      new Option("--as <outcome>", "what is known of it").choices(["done", "not_done", "undone"]).makeOptionMandatory(),
    )
    .requiredOption("--by <who>", "who settled it")
    .option("--output <json>", "with --as done: what the step would have given")
    .option("--note <text>", "how it was found out")
    .action(run(resolve));
  const schedules = root.command("schedules").description("list schedules; see below for what can be done to one");
  schedules.action(run(listSchedules));
  schedules.command("pause <schedule>").description("it does not fire until it is resumed").action(run(pauseSchedule));
  schedules
    .command("resume <schedule>")
    .description("it goes on from now: what fell due meanwhile is not fired")
    .action(run(resumeSchedule));
  schedules
    .command("trigger <schedule>")
    .description("fire it now, once, paused or not; its next firing stays")
    .action(run(triggerSchedule));
  schedules
    .command("remove <schedule>")
    .description("remove it; runs that it started go on. One that a saga declares comes back with the next worker")
    .action(run(removeSchedule));
  root
    .command("diagram <file>")
    .description("draw the sagas that a file exports, with the line of the pivot")
    .option("--saga <name>", "only this one")
    .option("--mermaid", "as a Mermaid flowchart")
    .action(run(diagram));
  root
    .command("doctor")
    .description(
      "is all well? connection, schema, workers, runs that wait for somebody, the rules of the newest journals",
    )
    .option("--journals <number>", "how many of the newest journals to check", wholeNumber, 100)
    .action(run(doctor));
  const embedded = root.command("embedded").description("the embedded Postgres of a folder (default: ./.rubicon)");
  embedded
    .command("url [dir]")
    .description("start it, unless it runs, and print its connection string: psql $(rubicon embedded url)")
    .action(run(embeddedUrl));
  embedded.command("stop [dir]").description("stop it; its data stays").action(run(stopEmbeddedServer));
  return root;
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("It has to be a whole number from 1.");
  return number;
}

/** A number, `true`, `false` or a string in quotes as JSON has them; anything else is a string as it stands. */
function attribute(text: string, before: Attributes): Attributes {
  const [, key, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError("It has to be key=value.");
  return { ...before, [key]: /^(true|false|-?\d+(\.\d+)?([eE][+-]?\d+)?|".*")$/s.test(value) ? jsonOr(value) : value };
}

function jsonOr(text: string): string | number | boolean {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A typo is found now, not when the worker ends. */
function duration(text: string): string {
  if (!/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text))
    throw new InvalidArgumentError('It has to be a duration, such as "500ms", "10s", "5m".');
  return text;
}

function packageVersion(): string {
  return createRequire(import.meta.url)("rubicon-saga/package.json").version;
}
