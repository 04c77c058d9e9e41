// WHAT A SCHEDULE CAN BE TOLD, by `put` or by a saga that declares it: read at the door, all faults at once.

import { shownValue } from "../definition/option-faults.js";
import { OptionReader } from "../definition/option-reader.js";
import type { SagaDefinition } from "../definition/saga.js";
import { type Fault, OptionsInvalidError } from "../errors/usage-errors.js";
import { scheduleIdFault } from "../schedules/firing-id.js";
import { defaultMissed, defaultOverlap, type MissedPolicy, type OverlapPolicy } from "../schedules/plan.js";
import { readTiming, type Timing, timingNames } from "../schedules/timing.js";

/** A schedule whose options are fine; its input is still to be parsed. */
export interface ReadSchedule {
  readonly id: string;
  readonly target: SagaDefinition;
  readonly input: unknown;
  readonly timing: Timing;
  readonly missed: MissedPolicy;
  readonly overlap: OverlapPolicy;
}

const names = ["id", ...timingNames, "input", "missed", "overlap"];

/** @throws OptionsInvalidError */
export function readPut(options: object): ReadSchedule {
  const read = new OptionReader(options, "schedules.put()", ["target", ...names]);
  const schedule = readSchedule(read, read.value("id"), read.value("target") as SagaDefinition);
  if (schedule === undefined) throw new OptionsInvalidError("putting a schedule", read.faults);
  return schedule;
}

/**
 * The schedules that sagas declare. Of several versions of a saga that declare one id the newest has it: the older ones are
 * registered for the runs that they still have. @throws OptionsInvalidError
 */
export function readDeclared(sagas: readonly SagaDefinition[]): readonly ReadSchedule[] {
  const faults: Fault[] = [];
  const byId = new Map<string, ReadSchedule>();
  for (const saga of sagas)
    for (const [index, options] of (saga.schedules ?? []).entries()) {
      const at = `saga "${saga.name}" version ${saga.version}, schedules[${index}]`;
      const read = new OptionReader(options, "a schedule", names);
      const schedule = readSchedule(read, read.value("id") ?? saga.name, saga);
      faults.push(...read.faults.map((fault) => ({ at: `${at}.${fault.at}`, fault: fault.fault })));
      if (schedule === undefined) continue;
      const present = byId.get(schedule.id);
      if (present !== undefined && (present.target.name !== saga.name || present.target === saga))
        faults.push({
          at: `${at}.id`,
          fault: `"${schedule.id}" is declared by saga "${present.target.name}" already; give each schedule an \`id\` of its own`,
        });
      else if (present === undefined || present.target.version < saga.version) byId.set(schedule.id, schedule);
    }
  if (faults.length > 0) throw new OptionsInvalidError("the executor", faults);
  return [...byId.values()];
}

function readSchedule(read: OptionReader, id: unknown, target: SagaDefinition): ReadSchedule | undefined {
  const wrong = scheduleIdFault(id);
  if (wrong !== undefined) read.refuse("id", `${shownValue(id)} ${wrong}`);
  const timing = readTiming(read);
  const missed = readChoice(read, "missed", ["skip", "once", "all"], defaultMissed);
  const overlap = readChoice(read, "overlap", ["allow", "skip"], defaultOverlap);
  if (timing === undefined || read.faults.length > 0) return undefined;
  return { id: id as string, target, input: read.value("input"), timing, missed, overlap };
}

function readChoice<T extends string>(read: OptionReader, name: string, choices: readonly T[], otherwise: T): T {
  const value = read.value(name);
  if (value === undefined || choices.includes(value as T)) return (value as T | undefined) ?? otherwise;
  read.refuse(name, `${shownValue(value)} is none of ${choices.map((choice) => `"${choice}"`).join(", ")}`);
  return otherwise;
}
