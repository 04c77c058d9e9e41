// A COMMAND CALLED IN THIS PROCESS: its output caught, its client an executor in memory.

import { inProcessExecutor, type Saga, type SagaExecutor } from "rubicon-saga";
import { rubicon } from "../../../src/cli/index.js";
import type { Doors } from "../../../src/cli/invocation.js";
import type { Io } from "../../../src/cli/io.js";
import type { Target } from "../../../src/cli/target.js";

export interface Called {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class CommandBench {
  readonly executor: SagaExecutor;
  /** What the last command that needed a client was pointed at. */
  target: Target | undefined;
  env: Record<string, string> = { DATABASE_URL: "postgres://ana:secret@db.example/shop" };
  colours = false;

  constructor(sagas: readonly Saga[]) {
    const soon = { firstDelay: 1, maxDelay: 1 };
    this.executor = inProcessExecutor({ sagas, retry: soon, compensationRetry: soon });
  }

  async call(...argv: string[]): Promise<Called> {
    let out = "";
    let err = "";
    const io: Io = {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      colours: this.colours,
      width: 100,
      env: this.env,
      cwd: "/",
      stopping: () => new AbortController().signal,
    };
    return { code: await rubicon(argv, io, this.#doors()), out, err };
  }

  #doors(): Doors {
    const open = async (target: Target) => {
      this.target = target;
      const { executor } = this;
      return new Proxy(executor, {
        get: (_, name) => {
          // The command closes its client; this one is the test's.
          if (name === "close") return async () => {};
          const member: unknown = Reflect.get(executor, name);
          return typeof member === "function" ? member.bind(executor) : member;
        },
      });
    };
    const openStore = () => Promise.reject(new Error("no store in this test"));
    return { openClient: open, openStore };
  }
}
