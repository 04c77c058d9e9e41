// VALUES AS STORED TEXT: an exact round trip, or a refusal that names the place (design 1.9). The only importer of
// `devalue`. Each value carries its format's tag, so that one that can't be read is shown as such and spoils no list.

import { DevalueError, parse, stringify } from "devalue";
import type { StoredValue } from "../core/entry.js";
import { hasBrand } from "../errors/saga-error.js";
import { PayloadTooLargeError, SerializationError, UsageError } from "../errors/usage-errors.js";
import { boundedOperations, deepestNesting, isTooDeep, withinLimit } from "./bounds.js";
import { explainRefusal, isOf, storableOperations, tagOf } from "./storable.js";

/**
 * What the user puts between text and database: encryption, compression. Text in, text out, synchronously; `decode` gives
 * back exactly what `encode` was given. Each stored value is tagged with `format`, so values written without it, or
 * before it was introduced, stay readable.
 *
 * @example { format: "aes-1", encode: (text) => encrypt(text, key), decode: (text) => decrypt(text, key) }
 */
export interface Codec {
  /** Stored beside each value. Anything but `devalue`; change it when what `decode` can read changes. */
  readonly format: string;
  readonly encode: (text: string) => string;
  readonly decode: (text: string) => string;
}

/** The tag of what is stored without a codec of the user's. */
const plainFormat = "devalue";

/** 1 MiB of UTF-8. */
const defaultLimitBytes = 1024 * 1024;

export interface EncodeOptions {
  /** Bytes of UTF-8, before a codec. Default 1 MiB. */
  readonly limitBytes?: number;
  readonly codec?: Codec;
}

const undecodableBrand: unique symbol = Symbol.for("rubicon-saga.undecodable") as never;

/** Stands where a value can't be read: by the format's tag, without the text. */
export class Undecodable {
  readonly format: string;
  readonly reason: string;

  constructor(format: string, reason: string) {
    this.format = format;
    this.reason = reason;
    Object.freeze(Object.defineProperty(this, undecodableBrand, { value: true }));
  }

  toString(): string {
    return `undecodable (format ${this.format})`;
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Whether `value` stands for one that can't be read; also across copies of the package. */
export function isUndecodable(value: unknown): value is Undecodable {
  return hasBrand(value, undecodableBrand);
}

/**
 * Stores `value`: JSON, undefined, NaN, -0, infinities, BigInt, Date, RegExp, Map, Set, URL, typed arrays (cut to their own
 * bytes), Buffer (as Buffer), cycles and repeated references. Nothing is dropped or changed in silence.
 *
 * @throws SerializationError for all else, with the path; PayloadTooLargeError
 */
export function encodeValue(value: unknown, options: EncodeOptions = {}): StoredValue {
  const limit = options.limitBytes ?? defaultLimitBytes;
  const text = write(value, limit);
  const size = Buffer.byteLength(text);
  if (size > limit) throw new PayloadTooLargeError(size, limit);
  if (options.codec === undefined) return { format: plainFormat, text };
  const { format } = options.codec;
  return { format, text: throughCodec(format, "encode", () => options.codec!.encode(text)) };
}

/** Reads a stored value: a fresh copy each time. @throws UsageError `value.undecodable` */
export function decodeValue(stored: StoredValue, codec?: Codec): unknown {
  const text = plainText(stored, codec);
  try {
    return parse(text, revivers);
  } catch (cause) {
    throw undecodable(stored.format, "its text is damaged, or was written by another version", cause);
  }
}

/** As {@link decodeValue}, for lists and histories: never throws, an {@link Undecodable} comes back instead. */
export function tryDecode(stored: StoredValue, codec?: Codec): unknown {
  try {
    return decodeValue(stored, codec);
  } catch (error) {
    return new Undecodable(stored.format, (error as Error).message);
  }
}

/** The options of an executor that are about values. */
export interface ValueOptions {
  readonly codec?: Codec;
  /** Bytes of UTF-8 that one value may take, before a codec. Default 1 MiB. */
  readonly maxValueBytes?: number;
}

/** One executor's way of storing values. Its methods may be passed on by themselves. */
export class Values {
  readonly #codec: Codec | undefined;
  readonly #encodeOptions: EncodeOptions;

  constructor({ codec, maxValueBytes }: ValueOptions = {}) {
    this.#codec = codec;
    this.#encodeOptions = {
      ...(codec === undefined ? {} : { codec }),
      ...(maxValueBytes === undefined ? {} : { limitBytes: maxValueBytes }),
    };
  }

  readonly encode = (value: unknown): StoredValue => encodeValue(value, this.#encodeOptions);
  readonly decode = (stored: StoredValue): unknown => decodeValue(stored, this.#codec);
  readonly tryDecode = (stored: StoredValue): unknown => tryDecode(stored, this.#codec);
}

/** What `devalue` does not know by itself. `false` means: not this one. */
const reducers = {
  Buffer: (value: unknown) => ArrayBuffer.isView(value) && isOf(value, Buffer.prototype) && bytesOf(value),
  /** An expression that was used with `exec` or `test` remembers where it stopped. */
  RegExpAt: (value: unknown) =>
    isOf(value, RegExp.prototype) && tagOf(value as object) === "RegExp" && (value as RegExp).lastIndex !== 0
      ? [new RegExp(value as RegExp), (value as RegExp).lastIndex]
      : false,
};

const revivers = {
  Buffer: (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  RegExpAt: ([expression, lastIndex]: [RegExp, number]) => Object.assign(expression, { lastIndex }),
};

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

const operations = { ...storableOperations, ...boundedOperations };

function write(value: unknown, limit: number): string {
  try {
    const text = withinLimit(limit, () => stringify(value, reducers, { operations }));
    if (!isTooDeep(text)) return text;
  } catch (error) {
    if (error instanceof PayloadTooLargeError) throw error;
    if (error instanceof DevalueError) throw refusal(error);
    if (!(error instanceof RangeError)) throw new SerializationError("$", "looking at it threw", { cause: error });
  }
  throw new SerializationError("$", `it is nested deeper than ${deepestNesting} levels`);
}

function refusal(error: DevalueError): SerializationError {
  const { why, at = "", cause } = explainRefusal(error.value);
  return new SerializationError(`$${error.path}${at}`, why, cause === undefined ? {} : { cause });
}

function plainText({ format, text }: StoredValue, codec: Codec | undefined): string {
  if (format === plainFormat) return text;
  if (codec?.format === format) return throughCodec(format, "decode", () => codec.decode(text));
  throw undecodable(format, "no codec of that format is configured; set `codec` to the one that wrote it");
}

function throughCodec(format: string, verb: "encode" | "decode", run: () => unknown): string {
  let result: unknown;
  try {
    result = run();
  } catch (cause) {
    if (verb === "decode") throw undecodable(format, "its codec's decode threw", cause);
    throw new UsageError("codec.failed", `the codec "${format}" could not encode a value`, { cause });
  }
  if (typeof result === "string") return result;
  // Its rejection would take the process down.
  if (result instanceof Promise) result.catch(() => {});
  throw new UsageError("codec.failed", `${verb} of the codec "${format}" gave no string; codecs are synchronous`);
}

function undecodable(format: string, why: string, cause?: unknown): UsageError {
  return new UsageError(
    "value.undecodable",
    `a stored value can't be read (format "${format}"): ${why}`,
    cause === undefined ? {} : { cause },
  );
}
