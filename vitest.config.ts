import { defineConfig } from "vitest/config";

const door = new URL("./src/index.ts", import.meta.url).pathname;

export default defineConfig({
  resolve: { alias: { "rubicon-saga": door } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    environment: "node",
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 120_000,
    coverage: { provider: "v8", include: ["src/core/**", "src/definition/**"], reporter: ["text"] },
  },
});
