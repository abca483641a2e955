/**
 * The embedded database: the lock of its directory, the effect of a killed process, and closing and
 * reopening.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it, vi } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Layer, Option, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { archive, prepareCluster } from "../../../src/store/embedded/Cluster.ts"
import { lockDataDir } from "../../../src/store/embedded/DataDirLock.ts"
import { openAhead, takeAhead } from "../../../src/store/embedded/OpenAhead.ts"
import { embeddedStreams } from "../../../src/store/embedded/Embedded.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { Sql } from "../../../src/store/sql/Sql.ts"
import { temporaryDataDir } from "../../support/Pglite.ts"
import { makeGeneration } from "../ledger/makeGeneration.ts"

/** Each test opens databases, and some start processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const writer = fileURLToPath(new URL("./embeddedWriter.ts", import.meta.url))

/** Starts the writer. Returns its output once there are `lines` lines, or it has ended. */
const startWriter = async (
  dataDir: string,
  lines: number
): Promise<{ child: ChildProcess; printed: Array<string> }> => {
  const child = spawn(process.execPath, [writer, dataDir], { stdio: ["ignore", "pipe", "inherit"] })
  const printed: Array<string> = []
  await new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      printed.push(line)
      if (printed.length === lines) resolve()
    })
    child.once("close", () => resolve())
  })
  return { child, printed }
}

const kill = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, "close")
  child.kill("SIGKILL")
  await closed
}

const writing = (dataDir: string, lines: number) =>
  Effect.acquireRelease(
    Effect.promise(() => startWriter(dataDir, lines)),
    ({ child }) => Effect.promise(() => kill(child))
  )

const ledgerOf = (dataDir: string) => LedgerSql.layer.pipe(Layer.provide(Sql.layerEmbedded({ dataDir })))

it("makes new databases from an archive of the installed version of the engine", () => {
  const manifest = new URL("../../../node_modules/@electric-sql/pglite/package.json", import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }
  assert.match(archive.pathname, new RegExp(`-${version}\\.tar\\.br$`), "run `npm run cluster`")
})

it.effect("makes a new database whole or not at all, readable by its owner only", () =>
  Effect.gen(function* () {
    const directory = join(yield* temporaryDataDir, "db")
    mkdirSync(`${directory}.partial`)
    writeFileSync(join(`${directory}.partial`, "left"), "by a process that died")
    yield* Effect.promise(() => prepareCluster(directory))
    assert.isFalse(existsSync(join(directory, "left")))
    assert.isFalse(existsSync(`${directory}.partial`))
    for (const path of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
      assert.strictEqual(statSync(join(directory, path)).mode & 0o077, 0, path)
    }
    assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
  })
)

it.effect("has every acknowledged row after the process was killed, three times in a row", () =>
  Effect.gen(function* () {
    const dataDir = yield* temporaryDataDir
    const acknowledged: Array<string> = []
    for (const lines of [30, 90, 60]) {
      const { child, printed } = yield* writing(dataDir, lines)
      yield* Effect.promise(() => kill(child))
      assert.deepStrictEqual(printed[0], "open")
      acknowledged.push(...printed.slice(1))

      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        const generationStore = yield* GenerationStore
        const found = yield* Effect.forEach(acknowledged, (id) => generationStore.find(id, "key_writer"))
        assert.deepStrictEqual(
          acknowledged.filter((_, index) => Option.isNone(found[index] ?? Option.none())),
          []
        )
        const spent = (yield* ledger.balances(["key_writer"], "2026-11")).get("key_writer")?.spentNano ?? 0
        // Each generation bills one. Those written but not yet acknowledged may exist too, at most
        // two per kill.
        assert.isAtLeast(spent, acknowledged.length)
        assert.isAtMost(spent, acknowledged.length + 6)
      }).pipe(Effect.provide(ledgerOf(dataDir)))
    }
    assert.isAtLeast(acknowledged.length, 177)
  })
)

it.effect("refuses a second process on one directory, with its name, and the same directory twice in one process", () =>
  Effect.gen(function* () {
    const dataDir = yield* temporaryDataDir
    const { child } = yield* writing(dataDir, 1)
    const second = yield* writing(dataDir, 2)
    assert.deepStrictEqual(second.printed, [
      `refused: in_use: the data directory ${dataDir} is in use by another process (${child.pid}). ` +
        "Stop that process, or set TOLLGATE_DATA_DIR to another directory"
    ])
    const here = yield* Effect.flip(Effect.scoped(Layer.build(Layer.fresh(Sql.layerEmbedded({ dataDir })))))
    assert.isTrue(here._tag === "DataDirError" && here.reason === "in_use" && here.directory === dataDir)

    yield* Effect.promise(() => kill(child))
    yield* lockDataDir(dataDir)
    const again = yield* Effect.flip(Effect.scoped(lockDataDir(dataDir)))
    assert.deepStrictEqual(again.reason, "in_use")
  })
)

it.effect("makes the directory private to its owner, and keeps its contents until the next start", () =>
  Effect.gen(function* () {
    const dataDir = join(yield* temporaryDataDir, "deep", "data")
    const create = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE kept AS SELECT 7::bigint AS seven`)
    yield* Effect.asVoid(create).pipe(Effect.provide(Layer.fresh(Sql.layerEmbedded({ dataDir }))))
    assert.deepStrictEqual(statSync(dataDir).mode & 0o777, 0o700)
    assert.deepStrictEqual(statSync(join(dataDir, "db")).mode & 0o777, 0o700)
    const read = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT seven FROM kept`)
    assert.deepStrictEqual(yield* Effect.provide(read, Layer.fresh(Sql.layerEmbedded({ dataDir }))), [{ seven: 7 }])
  })
)

it.effect("reports an unusable directory, and does not touch foreign files", () =>
  Effect.gen(function* () {
    const parent = yield* temporaryDataDir
    const file = join(parent, "file")
    writeFileSync(file, "")
    const notADirectory = yield* Effect.flip(Effect.scoped(Layer.build(Sql.layerEmbedded({ dataDir: file }))))
    assert.isTrue(notADirectory._tag === "DataDirError" && notADirectory.reason === "unusable")
    assert.include(notADirectory.message, file)

    const occupied = join(parent, "occupied")
    mkdirSync(join(occupied, "db"), { recursive: true })
    writeFileSync(join(occupied, "db", "letter"), "mine")
    chmodSync(occupied, 0o755)
    const foreign = yield* Effect.flip(Effect.scoped(Layer.build(Sql.layerEmbedded({ dataDir: occupied }))))
    assert.isTrue(foreign._tag === "DataDirError" && foreign.reason === "unusable")
    assert.deepStrictEqual(readFileSync(join(occupied, "db", "letter"), "utf8"), "mine")
  })
)

it.effect("takes over a database that was opened ahead, and unlocks its directory afterwards", () =>
  Effect.gen(function* () {
    const dataDir = yield* temporaryDataDir
    const embedded = Layer.fresh(Sql.layerEmbedded({ dataDir }))
    const create = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE kept AS SELECT 7::bigint AS seven`)
    yield* Effect.provide(create, embedded)

    yield* Effect.promise(() => openAhead(dataDir))
    const other = yield* Effect.flip(Effect.scoped(lockDataDir(dataDir)))
    assert.deepStrictEqual(other.reason, "in_use")
    const read = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT seven FROM kept`)
    assert.deepStrictEqual(yield* Effect.provide(read, embedded), [{ seven: 7 }])
    yield* Effect.scoped(lockDataDir(dataDir))
  })
)

it.effect("opens nothing ahead without a database, or in a locked directory", () =>
  Effect.gen(function* () {
    const absent = join(yield* temporaryDataDir, "absent")
    yield* Effect.promise(() => openAhead(absent))
    assert.isNull(takeAhead(absent))
    assert.isFalse(existsSync(absent))

    const dataDir = yield* temporaryDataDir
    const embedded = Layer.fresh(Sql.layerEmbedded({ dataDir }))
    yield* Effect.scoped(Layer.build(embedded))
    yield* lockDataDir(dataDir)
    yield* Effect.promise(() => openAhead(dataDir))
    assert.isNull(takeAhead(dataDir))
    const refused = yield* Effect.flip(Effect.scoped(Layer.build(embedded)))
    assert.isTrue(refused._tag === "DataDirError" && refused.reason === "in_use")
  })
)

it.effect("reports why a database could not be opened ahead", () =>
  Effect.gen(function* () {
    const dataDir = yield* temporaryDataDir
    mkdirSync(join(dataDir, "db"))
    writeFileSync(join(dataDir, "db", "PG_VERSION"), "none")
    yield* Effect.promise(() => openAhead(dataDir))
    const broken = yield* Effect.flip(Effect.scoped(Layer.build(Layer.fresh(Sql.layerEmbedded({ dataDir })))))
    assert.isTrue(broken._tag === "DataDirError" && broken.reason === "unusable")
    yield* Effect.scoped(lockDataDir(dataDir))
  })
)

it.effect("starts another engine when the running one crashes", () =>
  Effect.gen(function* () {
    const stream = yield* embeddedStreams(yield* temporaryDataDir)
    const sql = yield* PgClient.make({ stream, maxConnections: 1, username: "postgres", database: "postgres" })
    yield* sql`CREATE TABLE before_crash AS SELECT 1 AS one`
    const closed = Effect.callback<void>((resume) => {
      const connection = stream()
      connection.on("error", () => undefined)
      connection.on("close", () => resume(Effect.void))
      connection.resume()
      // A protocol that Postgres does not know ends its process.
      connection.write(Buffer.from([0, 0, 0, 8, 0, 1, 0, 0]))
    })
    yield* closed
    assert.deepStrictEqual(yield* sql`SELECT one FROM before_crash`, [{ one: 1 }])
  }).pipe(Effect.provide(Reactivity.layer))
)

it.effect("continues after an interrupted transaction, a failed statement and many concurrent ones", () =>
  Effect.gen(function* () {
    const sql = Context.get(
      yield* Layer.build(Sql.layerEmbedded({ dataDir: yield* temporaryDataDir })),
      SqlClient.SqlClient
    )
    yield* sql`CREATE TABLE numbers (n bigint PRIMARY KEY)`
    const inserted = yield* Latch.make()
    const open = yield* Effect.forkChild(
      sql.withTransaction(
        sql`INSERT INTO numbers VALUES (1)`.pipe(Effect.andThen(inserted.open), Effect.andThen(Effect.never))
      )
    )
    yield* inserted.await
    yield* Fiber.interrupt(open)
    const failed = yield* Effect.exit(sql`INSERT INTO nowhere VALUES (1)`)
    assert.isTrue(Exit.isFailure(failed))
    yield* Effect.all(
      Array.from({ length: 100 }, (_, n) => sql.withTransaction(sql`INSERT INTO numbers VALUES (${n + 10})`)),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(yield* sql`SELECT count(*) AS count, min(n) AS least FROM numbers`, [
      { count: 100, least: 10 }
    ])
  })
)

it.effect("closes cleanly with running statements: acknowledged rows are kept, later calls fail", () =>
  Effect.gen(function* () {
    const dataDir = yield* temporaryDataDir
    const scope = yield* Scope.make()
    const ledger = Context.get(yield* Layer.buildWithScope(Layer.fresh(ledgerOf(dataDir)), scope), Ledger)
    const acknowledged: Array<string> = []
    const first = yield* Latch.make()
    const settle = (n: number) => {
      const id = `gen_${n}`
      return ledger
        .settle(makeGeneration({ id, keyId: "key_closing" }, 1), "2026-11")
        .pipe(Effect.andThen(Effect.sync(() => acknowledged.push(id))), Effect.andThen(first.open))
    }
    const under = yield* Effect.forkChild(
      Effect.all(
        Array.from({ length: 20 }, (_, n) => Effect.exit(settle(n))),
        { concurrency: "unbounded" }
      )
    )
    yield* first.await
    yield* Scope.close(scope, Exit.void)
    yield* Fiber.join(under)
    assert.isTrue(Exit.isFailure(yield* Effect.exit(ledger.ping)))

    yield* Effect.gen(function* () {
      const reopened = yield* GenerationStore
      const found = yield* Effect.forEach(acknowledged, (id) => reopened.find(id, "key_closing"))
      assert.isTrue(acknowledged.length > 0 && found.every(Option.isSome))
    }).pipe(Effect.provide(Layer.fresh(ledgerOf(dataDir))))
  })
)
