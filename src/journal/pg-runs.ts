// A RUN'S ROW AS THE JOURNAL TELLS IT: its header, and its line in a list. Maps what the store reads; knows no SQL.

import type { RunStatus } from "../core/projection.js";
import type { Shape } from "../definition/shape.js";
import { StoreError } from "../errors/store-errors.js";
import type { RunSummaryRow } from "../store/run-list.js";
import type { RunRow } from "../store/runs.js";
import type { Attributes, RunHeader, RunLine } from "./journal.js";
import { unpackValue } from "./pg-rows.js";

/** A claimed run's header, its shape being one that the claimer registered. */
export function headerOf(run: RunRow, shape: Shape): RunHeader {
  const { key, tenant, runId, saga, version, inputDigest, priority, createdAt, startAt } = run;
  const of = { ...(tenant === "" ? {} : { tenant }), ...(run.parent === undefined ? {} : { parent: run.parent }) };
  const input = unpackValue(run.input);
  const lane = run.lane === undefined ? {} : { lane: run.lane };
  const found = run.attributes === undefined ? {} : { attributes: readAttributes(run.attributes) };
  return {
    key,
    ...of,
    runId,
    saga,
    version,
    shape,
    input,
    inputDigest,
    priority,
    ...found,
    ...lane,
    createdAt,
    startAt,
  };
}

function readAttributes(text: string): Attributes {
  return Object.freeze(JSON.parse(text));
}

export function readShape(text: string | undefined, runId: string): Shape {
  try {
    return JSON.parse(text!);
  } catch (cause) {
    throw new StoreError("journal.unreadable", `the shape of run "${runId}" can't be read`, { cause });
  }
}

/** One that can't be read is nobody's: its run is shown as blocked, and spoils no list. */
function shapeOrNone(text: string | undefined, runId: string): Shape {
  try {
    return readShape(text, runId);
  } catch {
    return { steps: [] };
  }
}

export function lineOf(row: RunSummaryRow): RunLine {
  const { runId, saga, version, attributes, owed, createdAt, endedAt, cancelRequestedAt, cancelRefusedAt } = row;
  return {
    runId,
    saga,
    version,
    shape: shapeOrNone(row.shape, runId),
    status: row.status as RunStatus,
    owed,
    createdAt,
    ...(attributes === undefined ? {} : { attributes: readAttributes(attributes) }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
    ...(cancelRefusedAt === undefined ? {} : { cancelRefusedAt }),
  };
}
