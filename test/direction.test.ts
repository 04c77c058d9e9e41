// Which room may look into which, and what pure code may not touch.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

function cruise(...paths: string[]): { violations: string[]; modules: number } {
  const { stdout } = spawnSync(
    "npx",
    ["--no-install", "depcruise", "--config", ".dependency-cruiser.cjs", "--output-type", "json", ...paths],
    {
      encoding: "utf8",
      maxBuffer: 1 << 28,
    },
  );
  const { summary } = JSON.parse(stdout);
  return {
    modules: summary.totalCruised,
    violations: summary.violations.map(
      (each: { rule: { name: string }; from: string; to: string }) => `${each.rule.name}: ${each.from} → ${each.to}`,
    ),
  };
}

describe("direction", () => {
  test("each room imports only what it may, and nothing goes in circles", () => {
    const { violations, modules } = cruise("src", "sagas", "examples");
    expect(modules).toBeGreaterThan(40);
    expect(violations).toEqual([]);
  });

  test.each(["core", "definition", "schedules"])("%s is synchronous and reads no clock, chance or process", (room) => {
    const folder = join("src", room);
    const found = readdirSync(folder).flatMap((file) => {
      const code = readFileSync(join(folder, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
      const words =
        code.match(
          /\basync\b|\bawait\b|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\.\w+|\bperformance\.\w+/g,
        ) ?? [];
      return words.map((word) => `${file}: ${word}`);
    });
    expect(found).toEqual([]);
  });
});
