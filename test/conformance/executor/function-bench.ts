// WHAT TESTS OF DURABLE FUNCTIONS WORK WITH: functions under unique names, calls that are noted outside, a log to look into.

import { type Durable, defineFunction, type RunTools } from "rubicon-saga";
import { type AnySaga, anything, Bench, uniqueName } from "./bench.js";

type Body = (tools: any) => unknown;

export class FunctionBench extends Bench {
  /** What was logged as a warning, or as an error. */
  readonly warnings: { readonly fields: any; readonly message: string | undefined }[] = [];

  readonly logger = {
    debug: () => {},
    info: () => {},
    warn: (fields: object, message?: string) => void this.warnings.push({ fields, message }),
    error: (fields: object, message?: string) => void this.warnings.push({ fields, message }),
  };

  function(run: (input: any, d: Durable) => unknown, options: Readonly<Record<string, unknown>> = {}): AnySaga {
    return defineFunction({
      name: uniqueName("function"),
      version: 1,
      input: anything,
      run: run as any,
      ...options,
    }) as AnySaga;
  }

  /** A body whose calls are noted. */
  does(name: string, body: Body = () => ({ from: name })): (tools: RunTools) => any {
    return (tools) => {
      this.outside.did(name, tools);
      return body(tools);
    };
  }

  /** How it is undone, noted. */
  undoes(name: string, body: Body = () => {}): { compensate: (undo: any) => unknown } {
    return {
      compensate: (undo) => {
        this.outside.undid(name, undo);
        return body(undo);
      },
    };
  }

  /** A step that is noted, both ways. */
  call(d: Durable, name: string, body?: Body, options: object = {}): Promise<any> {
    return d.step(name, this.does(name, body), { ...this.undoes(name), ...options } as any);
  }

  /** A step that needs no undoing. */
  calls(d: Durable, name: string, body?: Body, options: object = {}): Promise<any> {
    return d.step(name, this.does(name, body), { nothingToUndo: true, ...options } as any);
  }
}

/** May have happened, and is not tried again. */
export const inDoubt = { retry: { maxAttempts: 1 } };
