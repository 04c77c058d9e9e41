// HOW A THROWN VALUE IS KEPT: a bounded, JSON-safe record that can be stored, shown and turned back into an Error.
// Never throws, whatever was thrown (design 1.6).

/** A stored error. Everything in it is JSON-safe; all texts are cut at whole code points. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  /** Own enumerable properties beside the above (`status`, `data` …), made JSON-safe. */
  readonly props?: Readonly<Record<string, unknown>>;
  readonly cause?: ErrorRecord;
}
