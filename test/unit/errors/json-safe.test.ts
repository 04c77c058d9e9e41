import { describe, expect, it } from "vitest";
import { type ErrorRecord, recordError, reviveError } from "../../../src/errors/error-record.js";

/** As the journal gives it back. */
const stored = (thrown: unknown): ErrorRecord => JSON.parse(JSON.stringify(recordError(thrown)));
const props = (thrown: unknown) => stored(thrown).props;
const withFields = (fields: object) => Object.assign(new Error("it failed"), fields);

describe("properties", () => {
  it("are made JSON-safe", () => {
    const cyclic: any = { a: 1 };
    cyclic.self = cyclic;
    const kept = props(
      withFields({
        big: 10n,
        at: new Date(0),
        never: new Date(Number.NaN),
        map: new Map([["a", 1]]),
        set: new Set([1]),
        bytes: Buffer.from("hi"),
        buffer: new ArrayBuffer(3),
        pattern: /a/g,
        url: new URL("https://shop.example/a"),
        boxed: [new String("s"), new Number(1), new Boolean(false)],
        infinite: Number.POSITIVE_INFINITY,
        list: [undefined, () => 1, 2],
        run: () => 1,
        sign: Symbol("x"),
        nothing: undefined,
        cyclic,
        money: {
          toJSON: () => 5,
        },
        weak: new WeakMap(),
        inner: Object.assign(new RangeError("deep"), { at: 3 }),
        bare: Object.assign(Object.create(null), { b: 2 }),
        yes: true,
      }),
    );
    expect(kept).toEqual({
      big: "10n",
      at: "1970-01-01T00:00:00.000Z",
      never: "Invalid Date",
      map: [["a", 1]],
      set: [1],
      bytes: "[Buffer of 2 bytes]",
      buffer: "[ArrayBuffer of 3 bytes]",
      pattern: "/a/g",
      url: "https://shop.example/a",
      boxed: ["s", 1, false],
      infinite: "Infinity",
      list: [null, null, 2],
      cyclic: { a: 1, self: "[circular]" },
      money: {},
      weak: "[WeakMap]",
      inner: { name: "RangeError", message: "deep", at: 3 },
      bare: { b: 2 },
      yes: true,
    });
  });

  it("of a class are asked for their JSON, and read where they have none", () => {
    class Money {
      constructor(readonly cents: number) {}
      toJSON() {
        return { cents: this.cents, currency: "EUR" };
      }
    }
    class Point {
      x = 1;
    }
    expect(props(withFields({ money: new Money(5), point: new Point() }))).toEqual({
      money: { cents: 5, currency: "EUR" },
      point: { x: 1 },
    });
  });

  it("that are sockets or streams are named, not read", () => {
    class ClientRequest {
      _header = "Authorization: Bearer abc";
      on() {}
    }
    class Source {
      secret = "abc";
      pipe() {}
    }
    expect(props(withFields({ request: new ClientRequest(), source: new Source() }))).toEqual({
      request: "[ClientRequest]",
      source: "[Source]",
    });
  });

  it("that carry credentials are redacted", () => {
    const headers = { Authorization: "Bearer abc", cookie: "a=b", "content-type": "text/plain" };
    const kept = props(withFields({ config: { headers, auth: { username: "ana", password: "abc" } } }));
    expect(kept).toEqual({
      config: {
        headers: { Authorization: "[redacted]", cookie: "[redacted]", "content-type": "text/plain" },
        auth: { username: "ana", password: "[redacted]" },
      },
    });
  });

  it("are kept 8 levels deep", () => {
    const deep = Array.from({ length: 20 }).reduce<unknown>((inner) => ({ inner }), "end");
    expect(JSON.stringify(props(withFields({ deep })))).toBe(
      `{"deep":${'{"inner":'.repeat(7)}"[Object]"${"}".repeat(7)}}`,
    );
  });

  it("named __proto__ or constructor reach no prototype (SER-11)", () => {
    const payload = JSON.parse('{"__proto__":{"admin":true},"constructor":{"name":"x"},"toString":1,"ok":2}');
    const error = withFields({ payload });
    for (const key of Object.keys(payload))
      Object.defineProperty(error, key, { value: payload[key], enumerable: true });
    const record = stored(error);
    expect(record.props).toEqual({ payload: { ok: 2 }, ok: 2 });
    const forged = JSON.parse(
      '{"name":"E","message":"m","props":{"__proto__":{"admin":true},"toString":1,"stack":2,"a":1}}',
    );
    const back: any = reviveError(forged);
    expect(({} as any).admin).toBeUndefined();
    expect(back.admin).toBeUndefined();
    expect(Object.getPrototypeOf(back)).toBe(Error.prototype);
    expect(String(back)).toBe("E: m");
    expect(back.a).toBe(1);
  });

  it("of a revived error are its own: changing them changes no record", () => {
    const record = recordError(withFields({ data: { n: 1 } }));
    (reviveError(record) as any).data.n = 2;
    expect(record.props).toEqual({ data: { n: 1 } });
  });
});
