// WHICH ROOM MAY LOOK INTO WHICH (CONTRIBUTING.md): enforced by test/direction.test.ts, without exemptions. Type-only imports count.

const src = (...rooms) => rooms.map((room) => `^src/${room}`);

/** A room may import itself and `allowed`, and nothing else of ours. */
const room = (name, allowed) => ({
  name: `${name}-imports`,
  severity: "error",
  from: { path: `^src/${name}/` },
  to: { path: "^(src|sagas|examples|test)/", pathNot: [`^src/${name}/`, ...allowed] },
});

/** Only `file` imports the package. */
const oneImporter = (name, file) => ({
  name: `one-importer-of-${name}`,
  severity: "error",
  from: { path: "^src/", pathNot: file },
  to: { path: `(^|/)node_modules/${name}/`, dependencyTypesNot: ["type-only"] },
});

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: { path: "^(src|sagas)/" }, to: { circular: true } },
    { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true, path: "^\\." } },
    room("errors", []),
    room("platform", []),
    room("definition", src("errors/")),
    room("core", src("errors/", "definition/shape\\.ts$")),
    room("store", src("errors/", "platform/")),
    room("journal", src("errors/", "platform/", "core/", "definition/shape\\.ts$", "store/")),
    {
      name: "only-pg-journal-knows-the-store",
      severity: "error",
      from: { path: "^src/journal/", pathNot: "^src/journal/pg-(journal|runs)\\.ts$" },
      to: { path: "^src/store/" },
    },
    room("schedules", src("errors/", "definition/")),
    room("executor", src("errors/", "platform/", "definition/", "core/", "journal/", "schedules/")),
    room("functions", src("errors/", "platform/", "definition/", "executor/", "core/", "journal/")),
    room("worker", src("errors/", "platform/", "definition/", "core/", "journal/", "store/", "executor/", "schedules/")),
    room("cli", src("errors/", "platform/", "index\\.ts$", "core/(rules|timeline)\\.ts$", "store/").concat("^sagas/")),
    {
      name: "sagas-use-the-public-door",
      severity: "error",
      from: { path: "^(sagas|examples)/" },
      to: { path: "^src/", pathNot: "^src/(index|testing/index)\\.ts$" },
    },
    {
      name: "pure-rooms-touch-no-node",
      severity: "error",
      from: { path: "^src/(core|definition|schedules)/" },
      to: { dependencyTypes: ["core"] },
    },
    oneImporter("pg", "^src/store/db\\.ts$"),
    oneImporter("cockatiel", "^$"),
    oneImporter("p-retry", "^src/store/retry\\.ts$"),
    oneImporter("croner", "^src/schedules/cron\\.ts$"),
    oneImporter("devalue", "^src/journal/codec\\.ts$"),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { conditionNames: ["types", "import", "node", "default"] },
  },
};
