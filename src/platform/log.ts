// LOGGING as the rest of the library may rely on it: silent unless the user hands in a logger, and never a reason to fail.

/** The part of pino's interface that the library uses; the same shape as the definition's `Logger`. */
export interface LogSink {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
}

/** What is used when the user gave no logger. */
export const silentLogger: LogSink = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });

/**
 * The user's logger, made safe: whatever it throws, or rejects with, is dropped. A run must not fail, and an attempt must
 * not be repeated, because a line could not be written.
 */
export function safeLogger(logger: LogSink): LogSink {
  return logSink((level, fields, message) => logger[level](fields, message));
}

/** A logger that adds `fields` to each line; those of the line win. As safe as {@link safeLogger}. */
export function withFields(logger: LogSink, fields: object): LogSink {
  return logSink((level, own, message) => logger[level]({ ...fields, ...own }, message));
}

function logSink(write: (level: keyof LogSink, fields: object, message?: string) => unknown): LogSink {
  const at =
    (level: keyof LogSink) =>
    (fields: object, message?: string): void => {
      try {
        const result = write(level, fields, message);
        // An asynchronous logger's rejection would take the process down.
        if (result instanceof Promise) result.catch(() => {});
      } catch {
        // Nowhere to say it.
      }
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
