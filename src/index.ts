// THE PUBLIC DOOR. Nothing else of the package is importable but the doors beside it.

// Errors
export { classifyError } from "./core/classify-error.js";
// Journal
export type { Cause, Direction, EndStatus, Entry, StoredValue } from "./core/entry.js";
export type { RunStatus } from "./core/projection.js";
// Define
export { type ChildOptions, child } from "./definition/child.js";
export { defineSaga, type InputOf, type OutputOf, type Saga } from "./definition/define-saga.js";
export { describeSaga, type SagaDescription } from "./definition/describe.js";
export type { Duration } from "./definition/duration.js";
export { type ForEachOptions, forEach } from "./definition/for-each.js";
export { parallel } from "./definition/parallel.js";
export type { RetryOptions } from "./definition/retry-options.js";
export type {
  AttemptPolicy,
  Classification,
  Logger,
  Reconciliation,
  RunTools,
  Transaction,
  UndoToolsBase,
} from "./definition/saga.js";
export type { DeclaredSchedule, ScheduleInput, SchedulePolicies, ScheduleTiming } from "./definition/schedules.js";
export type { ElementKind, Shape, StepKind, StepShape } from "./definition/shape.js";
export { type SleepOptions, sleep } from "./definition/sleep.js";
export { named, pivot, step } from "./definition/step.js";
export type { StepTools, Undo } from "./definition/step-options.js";
export type { Parallel, Step } from "./definition/typed-step.js";
export { type SignalOptions, type Waited, waitForSignal } from "./definition/wait-for-signal.js";
export {
  CompensationFailedError,
  ForwardIncompleteError,
  RunInDoubtError,
  SagaCancelledError,
  SagaFailedError,
  SagaOutcomeError,
  SagaTimedOutError,
} from "./errors/outcome-errors.js";
export { isSagaError, SagaError } from "./errors/saga-error.js";
export {
  type AbortReason,
  isRetryableError,
  isTerminalError,
  NeverCalledError,
  RetryableError,
  StepAborted,
  StepTimeoutError,
  TerminalError,
} from "./errors/step-errors.js";
export { RunLostError, StoreError } from "./errors/store-errors.js";
export {
  type Fault,
  InputInvalidError,
  OptionsInvalidError,
  PayloadTooLargeError,
  RunConflictError,
  RunNotFoundError,
  SagaInvalidError,
  SerializationError,
  UsageError,
} from "./errors/usage-errors.js";
// Run
export type {
  Attributes,
  CancelAnswer,
  CloseOptions,
  HistoryEntry,
  ListOptions,
  ResolveOptions,
  RunOutcome,
  RunPage,
  RunSummary,
  RunView,
  SagaExecutor,
  SendOptions,
  SignalAnswer,
  StartManyOptions,
  StartOptions,
  WaitOptions,
} from "./executor/executor.js";
export type { RunHandle } from "./executor/handle.js";
export { inProcessExecutor } from "./executor/in-process-executor.js";
export type { ExecutorOptions, InProcessOptions, RetryDefaults } from "./executor/options.js";
export type { PutSchedule, Schedules, ScheduleView } from "./executor/schedules.js";
// Durable functions
export { defineFunction, type FunctionOptions } from "./functions/define-function.js";
export type { Durable } from "./functions/durable.js";
export { isSuspension, type Suspension } from "./functions/suspension.js";
export type { Codec } from "./journal/codec.js";
export { isUndecodable, type Undecodable } from "./journal/codec.js";
// Schedules
export { type Firing, firingOf } from "./schedules/firing-id.js";
export { type NextFiringsOptions, nextFirings } from "./schedules/next-firings.js";
export { type DurableExecutor, durableExecutor } from "./worker/durable-executor.js";
export type { DurableOptions, WorkerOptions } from "./worker/options.js";
export type { WorkerHealth } from "./worker/worker.js";
