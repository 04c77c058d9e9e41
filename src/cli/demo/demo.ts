// `rubicon demo`: what this library promises, shown on real processes and a real Postgres in a few seconds. It works in a
// schema of its own, so that it meets nobody's runs, and fails if anything is not as promised.

import { orderFulfilment } from "../../../sagas/order-fulfilment/index.js";
import { OutsideWorld } from "../../../sagas/outside.js";
import { outsideAt, serveOutside } from "../../../sagas/outside-server.js";
import { describeSaga, durableExecutor } from "../../index.js";
import { type ExitCode, exitCodes } from "../failure.js";
import { type Invocation, print, requireTarget } from "../invocation.js";
import { type Paint, painter } from "../render/paint.js";
import { runTimeline } from "../render/run-text.js";
import { spanText } from "../render/time-text.js";
import { type Target, targetText } from "../target.js";
import {
  crashScene,
  failureScene,
  lateStopScene,
  type Scene,
  type SceneResult,
  type Stage,
  stopScene,
} from "./scenes.js";
import { Troupe } from "./troupe.js";

const schema = "rubicon_demo";

const scenes: readonly Scene[] = [crashScene, failureScene, stopScene, lateStopScene];

export async function demo(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  const startedAt = performance.now();
  const target: Target = { ...requireTarget(invocation, true), schema, tenant: "" };
  const tell = options.json === true ? () => {} : (line: string) => io.out(`${line}\n`);
  const paint = painter(io.colours);
  tell(`${paint("rubicon demo", "bold")} on ${targetText(target)}`);

  const world = new OutsideWorld();
  const outside = await serveOutside(world);
  const saga = orderFulfilment(outsideAt(outside.url));
  const troupe = new Troupe({ database: target.database, schema, outside: outside.url }, io.stopping());
  try {
    tell(`\n${paint("1. A saga, and the line that it crosses once", "bold")}\n`);
    const diagram = describeSaga(saga).text;
    tell(indented(diagram));
    await using client = await durableExecutor({
      sagas: [saga],
      database: target.database,
      schema,
      migrate: true,
      worker: false,
    });
    const stage: Stage = { saga, client, world, troupe, tell: (line) => tell(`   ${line}`) };
    const results: SceneResult[] = [];
    for (const scene of scenes) {
      tell(`\n${paint(`${results.length + 2}. ${scene.title}`, "bold")}\n`);
      const result = await scene.play(stage);
      results.push(result);
      tell(`\n${indented(resultText(result, paint, io.width))}`);
    }
    const well = results.every((result) => result.promises.every(({ kept }) => kept));
    const tookMs = Math.round(performance.now() - startedAt);
    const last = results.at(-1)!.runId;
    print(invocation, { well, tookMs, database: targetText(target), diagram, scenes: results }, () =>
      [
        "",
        well
          ? paint(`All as promised, in ${spanText(tookMs)}.`, "green", "bold")
          : paint("Not all was as promised.", "red", "bold"),
        `Look closer:  npx rubicon show ${last} --schema ${schema}${options.embedded === undefined ? "" : ` --embedded ${options.embedded}`}`,
      ].join("\n"),
    );
    return well ? exitCodes.done : exitCodes.failed;
  } finally {
    troupe.dismiss();
    await outside.close();
  }
}

function resultText({ startedAt, history, promises }: SceneResult, paint: Paint, width: number): string {
  const lines = runTimeline(history, startedAt, { paint, width: width - 3 });
  const kept = promises.map((promise) =>
    promise.kept ? `${paint("✓", "green")} ${promise.text}` : `${paint("✗", "red")} NOT KEPT: ${promise.text}`,
  );
  return [...lines, "", ...kept].join("\n");
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "   ");
}
