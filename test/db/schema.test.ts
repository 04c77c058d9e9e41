// Migrating and verifying (design 3.1): racing replicas, odd names, few rights, damage, age.

import pg from "pg";
import { describe, expect, test } from "vitest";
import { PgJournal } from "../../src/journal/pg-journal.js";
import { type DatabaseOptions, openDatabase } from "../../src/store/db.js";
import { migrate, migrationsAsSql, verifySchema } from "../../src/store/migrate.js";
import { expectedObjects, type Migration, migrationSql, readMigrations } from "../../src/store/migrations.js";
import { channelOf } from "../../src/store/notify.js";
import { type FreshDatabase, freshDatabase } from "../support/postgres.js";

async function withDatabase<T>(work: (fresh: FreshDatabase) => Promise<T>): Promise<T> {
  const fresh = await freshDatabase();
  try {
    return await work(fresh);
  } finally {
    await fresh.drop();
  }
}

async function using<T>(
  options: DatabaseOptions,
  work: (database: ReturnType<typeof openDatabase>) => Promise<T>,
): Promise<T> {
  const database = openDatabase(options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const later: Migration = {
  number: 9_000,
  name: "9000_later.sql",
  text: 'create table :"schema".later (id integer);\n',
  checksum: "later",
  oldestCode: 1,
};

describe("migrating", () => {
  test("MIG-1: ten replicas that migrate an empty database at once all succeed, and each file runs once", async () => {
    for (let round = 0; round < 5; round += 1)
      await withDatabase(async (fresh) => {
        const migrated = Array.from({ length: 10 }, () =>
          using({ database: fresh.url }, (database) => migrate(database)),
        );
        const applied = (await Promise.all(migrated)).flat();
        expect(applied).toEqual(readMigrations().map((migration) => migration.name));
      });
  });

  test("MIG-1: replicas that race to a later version apply it once", async () => {
    await withDatabase(async (fresh) => {
      await using({ database: fresh.url }, (database) => migrate(database));
      const all = [...readMigrations(), later];
      const migrated = Array.from({ length: 5 }, () =>
        using({ database: fresh.url }, (database) => migrate(database, all)),
      );
      expect((await Promise.all(migrated)).flat()).toEqual([later.name]);
    });
  });

  test("MIG-1: the lock goes with the transaction, so nothing is left behind on a pooler's connection", async () => {
    await withDatabase(async (fresh) => {
      await using({ database: fresh.url }, async (database) => {
        await migrate(database);
        expect(
          await fresh.query(
            "select count(*)::int as n from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
          ),
        ).toEqual([{ n: 0 }]);
      });
    });
  });

  test("a migration that fails leaves the schema as it was", async () => {
    await withDatabase(async (fresh) => {
      const broken = { ...later, text: 'create table :"schema".half (id integer); select 1 / 0;' };
      await using({ database: fresh.url }, async (database) => {
        await expect(migrate(database, [...readMigrations(), broken])).rejects.toMatchObject({
          code: "store.rejected",
        });
        await expect(verifySchema(database)).rejects.toMatchObject({ code: "schema.missing" });
        await migrate(database);
        await verifySchema(database);
      });
    });
  });

  test("the printed SQL makes the same schema as migrating does", async () => {
    await withDatabase(async (fresh) => {
      await fresh.query(migrationsAsSql('odd "name"'));
      await using({ database: fresh.url, schema: 'odd "name"' }, async (database) => {
        await verifySchema(database);
        expect(await migrate(database)).toEqual([]);
      });
    });
  });

  test("what the code expects is what the migrations make, table for table, column for column", async () => {
    await withDatabase(async (fresh) => {
      await using({ database: fresh.url }, (database) => migrate(database));
      const columns = await fresh.query(
        "select table_name as t, array_agg(column_name::text order by column_name)::text[] as c from information_schema.columns where table_schema = 'rubicon' group by 1",
      );
      const made = Object.fromEntries(columns.map(({ t, c }) => [t, c]));
      const wanted = Object.entries(expectedObjects.tables).map(([table, names]) => [table, [...names].sort()]);
      expect(made).toEqual(Object.fromEntries(wanted));
      const indexes = await fresh.query("select indexname from pg_indexes where schemaname = 'rubicon' order by 1");
      expect(indexes.map((row) => row.indexname)).toEqual([...expectedObjects.indexes].sort());
    });
  });
});

describe("odd places", () => {
  test('MIG-3: a schema named `My-Saga "x"`, an empty search_path and decoys in public: all works, and public is untouched', async () => {
    await withDatabase(async (fresh) => {
      const schema = 'My-Saga "x"';
      await fresh.query(
        "create table public.runs (decoy int); create table public.journal (decoy int); create table public.workers (decoy int)",
      );
      await fresh.query(`alter database "${fresh.name}" set search_path = ''`);
      const before = await fresh.query(
        "select count(*)::int as n from pg_class where relnamespace = 'public'::regnamespace",
      );
      for (const applied of [["0001_runs.sql"], []])
        await using({ database: fresh.url, schema }, async (database) => {
          expect((await migrate(database)).slice(0, 1)).toEqual(applied);
          await verifySchema(database);
          const journal = new PgJournal({ database });
          const start = {
            runId: "r",
            saga: "s",
            version: 1,
            shape: { steps: [] },
            input: { format: "f", text: "x" },
            inputDigest: "d",
            priority: 0,
          };
          const { header } = await journal.start(start);
          const number = applied.length === 0 ? 2 : 1;
          const offered = await journal.append({
            header,
            number,
            nonce: `n${number}`,
            writer: "w",
            entries: [{ kind: "retried", by: "ana" }],
          });
          expect(offered.kind).toBe("appended");
          expect((await journal.load("r"))?.rows).toHaveLength(number);
          expect((await journal.list({ limit: 5 })).lines).toHaveLength(1);
          await journal.close();
        });
      expect(
        await fresh.query("select count(*)::int as n from pg_class where relnamespace = 'public'::regnamespace"),
      ).toEqual(before);
    });
  });

  test("MIG-3: two schemas of one database see neither each other's runs nor notifications", async () => {
    await withDatabase(async (fresh) => {
      const start = {
        runId: "r",
        saga: "s",
        version: 1,
        shape: { steps: [] },
        input: { format: "f", text: "x" },
        inputDigest: "d",
        priority: 0,
      };
      await using({ database: fresh.url, schema: "one" }, async (one) =>
        using({ database: fresh.url, schema: "two" }, async (two) => {
          await migrate(one);
          await migrate(two);
          await new PgJournal({ database: one }).start(start);
          expect(await new PgJournal({ database: two }).load("r")).toBeUndefined();
        }),
      );
      expect(channelOf("one")).not.toBe(channelOf("two"));
    });
  });

  test("a backslash, a quote and a dollar in the schema's name are only a name", async () => {
    await withDatabase(async (fresh) => {
      for (const schema of ["it's", "back\\slash", "$1 $& $$", "ünïcode"])
        await using({ database: fresh.url, schema }, async (database) => {
          await migrate(database);
          await verifySchema(database);
        });
    });
  });
});

describe("few rights", () => {
  const role = `limited_${process.pid}`;
  const as = (fresh: FreshDatabase) => {
    const url = new URL(fresh.url);
    url.username = role;
    return url.href;
  };
  const asRole = async (fresh: FreshDatabase, grants: string, work: () => Promise<void>) => {
    await fresh.query(`create role ${role} login; revoke create on database "${fresh.name}" from public; ${grants}`);
    try {
      await work();
    } finally {
      await fresh.query(`drop owned by ${role}; drop role ${role}`);
    }
  };

  test("MIG-4: a role with nothing but DML works on a schema that somebody else migrated", async () => {
    await withDatabase(async (fresh) => {
      await using({ database: fresh.url }, (database) => migrate(database));
      const dml = `grant usage on schema rubicon to ${role}; grant select, insert, update, delete on all tables in schema rubicon to ${role}`;
      await asRole(fresh, dml, () =>
        using({ database: as(fresh) }, async (database) => {
          await verifySchema(database);
          // Nothing to apply: not even the right to create is wanted.
          expect(await migrate(database)).toEqual([]);
          const journal = new PgJournal({ database });
          const start = {
            runId: "r",
            saga: "s",
            version: 1,
            shape: { steps: [] },
            input: { format: "f", text: "x" },
            inputDigest: "d",
            priority: 0,
          };
          expect((await journal.start(start)).created).toBe(true);
        }),
      );
    });
  });

  test("MIG-4: a role that may not create is told which right it lacks, in one coded error", async () => {
    await withDatabase((fresh) =>
      asRole(fresh, "", () =>
        using({ database: as(fresh) }, async (database) => {
          const error = await migrate(database).catch((thrown) => thrown);
          expect(error).toMatchObject({ code: "store.forbidden" });
          expect(error.message).toContain(`"${role}"`);
          expect(error.message).toContain("CREATE on the database");
        }),
      ),
    );
  });

  test("MIG-4: rights that are missing are named by table", async () => {
    await withDatabase(async (fresh) => {
      await using({ database: fresh.url }, (database) => migrate(database));
      const verified = (database: ReturnType<typeof openDatabase>) =>
        verifySchema(database).catch((error) => `${error.code}: ${error.message}`);
      await asRole(fresh, "", () =>
        using({ database: as(fresh) }, async (database) => {
          expect(await verified(database)).toMatch(/store.forbidden: .*USAGE on the schema/);
          await fresh.query(
            `grant usage on schema rubicon to ${role}; grant select on all tables in schema rubicon to ${role}`,
          );
          expect(await verified(database)).toMatch(/store.forbidden: .*INSERT and UPDATE on table "runs"/);
        }),
      );
    });
  });
});

describe("damage and age", () => {
  test("MIG-4: whatever was dropped is named", async () => {
    await withDatabase((fresh) =>
      using({ database: fresh.url }, async (database) => {
        await migrate(database);
        await fresh.query(
          "drop index rubicon.runs_ready; drop table rubicon.worker_locks; alter table rubicon.journal drop column nonce",
        );
        const error = await verifySchema(database).catch((thrown) => thrown);
        expect(error).toMatchObject({ code: "schema.incomplete" });
        for (const name of ["index runs_ready", "table worker_locks", "column journal.nonce"])
          expect(error.message).toContain(name);
      }),
    );
  });

  test("MIG-4: a database without our schema, and a schema without our tables, say how to migrate", async () => {
    await withDatabase((fresh) =>
      using({ database: fresh.url }, async (database) => {
        const missing = () => verifySchema(database).catch((error) => `${error.code}: ${error.message}`);
        expect(await missing()).toMatch(/schema.missing: .*rubicon migrate/);
        await fresh.query("create schema rubicon");
        expect(await missing()).toMatch(/schema.missing: .*rubicon migrate/);
      }),
    );
  });

  test("a schema that lacks a migration of this code is outdated, and the file is named", async () => {
    await withDatabase((fresh) =>
      using({ database: fresh.url }, async (database) => {
        await migrate(database);
        await expect(verifySchema(database, [...readMigrations(), later])).rejects.toMatchObject({
          code: "schema.outdated",
          message: expect.stringContaining("9000_later.sql"),
        });
      }),
    );
  });

  test("older code runs on a newer schema unless that one says otherwise: a roll-back works", async () => {
    await withDatabase((fresh) =>
      using({ database: fresh.url }, async (database) => {
        await migrate(database, [...readMigrations(), later]);
        await verifySchema(database);
        expect(await migrate(database)).toEqual([]);
        await fresh.query("update rubicon.migrations set oldest_code = 9000 where number = 9000");
        await expect(verifySchema(database)).rejects.toMatchObject({ code: "schema.too_new" });
        await expect(migrate(database)).rejects.toMatchObject({ code: "schema.too_new" });
      }),
    );
  });

  test("a migration that was changed after it was applied is found out", async () => {
    await withDatabase((fresh) =>
      using({ database: fresh.url }, async (database) => {
        await migrate(database);
        const [first, ...rest] = readMigrations();
        await expect(verifySchema(database, [{ ...first!, checksum: "other" }, ...rest])).rejects.toMatchObject({
          code: "schema.changed",
        });
      }),
    );
  });
});

test("a pool of fewer than four connections is refused, and the minimum named", () => {
  const pool = new pg.Pool({ max: 3 });
  expect(() => openDatabase({ database: pool })).toThrow(/at least 4/);
  expect(() => openDatabase({ database: "postgres://x", maxConnections: 1 })).toThrow(/at least 4/);
});

test("PG-7: a replica that waits for another's migration is no transaction that idles", async () => {
  await withDatabase(async (fresh) => {
    const holder = await fresh.connect();
    await holder.query("begin");
    await holder.query("select pg_advisory_xact_lock(hashtextextended('rubicon-saga migrate rubicon', 0))");
    await using({ database: fresh.url }, async (database) => {
      const waiting = migrate(database);
      for (;;) {
        const rows = await fresh.query(
          "select state from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
        );
        if (rows.length === 0) continue;
        expect(rows).toEqual([{ state: "active" }]);
        break;
      }
      await holder.query("commit");
      await waiting;
    });
  });
});

test("a migration's text names the schema by its placeholder everywhere", () => {
  for (const migration of readMigrations()) {
    expect(migrationSql(migration, "x")).not.toContain(':"schema"');
    expect(migration.text).not.toMatch(/\bon (runs|journal|workers)\b/);
  }
});
