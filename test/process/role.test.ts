/**
 * The gateway as compose runs it: with a role that owns only its database, and a nightly dump that
 * can be restored.
 */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { startGateway } from "../support/Gateway.ts"

/** Starts a process, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const hasTools = ["psql", "pg_dump", "pg_restore"].every((tool) => spawnSync(tool, ["--version"]).error === undefined)

/** Connection variables for Postgres's tools. */
const connection = (url: URL) => ({
  PATH: process.env["PATH"] ?? "",
  PGHOST: url.hostname,
  PGPORT: url.port || "5432",
  PGUSER: url.username,
  PGPASSWORD: decodeURIComponent(url.password)
})

const query = (url: URL, sql: string): string =>
  execFileSync("psql", ["-v", "ON_ERROR_STOP=1", "-Atc", sql], {
    env: { ...connection(url), PGDATABASE: url.pathname.slice(1) },
    encoding: "utf8"
  }).trim()

/** What deploy/compose/database.sh creates, removed with the scope; returns its address. */
const ownRole = Effect.acquireRelease(
  Effect.sync(() => {
    const server = new URL(inject("postgresUrl"))
    const name = `role_${crypto.randomUUID().replaceAll("-", "")}`
    const password = 'it\'s a "quoted" password'
    execFileSync("sh", ["deploy/compose/database.sh"], {
      env: {
        ...connection(server),
        POSTGRES_USER: server.username,
        TOLLGATE_ROLE: name,
        TOLLGATE_PASSWORD: password
      }
    })
    const own = new URL(server)
    own.username = name
    own.password = encodeURIComponent(password)
    own.pathname = `/${name}`
    return { server, own, name }
  }),
  ({ name, server }) =>
    Effect.sync(() => {
      query(server, `DROP DATABASE ${name} WITH (FORCE)`)
      query(server, `DROP ROLE ${name}`)
    })
)

describe.skipIf(!hasTools)("a role that owns its database only", () => {
  it.live("is all that the gateway needs, and its dump restores", () =>
    Effect.gen(function* () {
      const { name, own, server } = yield* ownRole
      const rights = `SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication FROM pg_roles WHERE rolname = '${name}'`
      assert.strictEqual(query(server, rights), "f|f|f|f")

      // Nothing listens there: events stay in the queue, whose table the library creates.
      const webhooks = [{ url: "http://127.0.0.1:9/", secret: "a secret of both sides" }]
      const gateway = yield* startGateway({ env: { DATABASE_URL: own.href }, config: { webhooks } })
      const { id, key } = yield* gateway.issueKey()
      const body = { model: "mock/echo", messages: [{ role: "user", content: "Hello" }] }
      assert.strictEqual((yield* gateway.send("/v1/chat/completions", { key, body })).status, 200)
      yield* gateway.stop

      const folder = mkdtempSync(join(tmpdir(), "tollgate-dump-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const old = ["20200101T000000Z", "20200102T000000Z"].map((date) => `tollgate-${date}.dump`)
      for (const file of old) writeFileSync(join(folder, file), "")
      const job = { DIRECTORY: folder, EVERY_SECONDS: "0", KEEP: "2" }
      execFileSync("sh", ["deploy/compose/backup.sh"], { env: { ...connection(own), PGDATABASE: name, ...job } })
      const dumps = readdirSync(folder).toSorted()
      assert.lengthOf(dumps, 2)
      assert.strictEqual(dumps[0], old[1])

      const restored = `${name}_restored`
      yield* Effect.acquireRelease(
        Effect.sync(() => query(server, `CREATE DATABASE ${restored} OWNER ${name}`)),
        () => Effect.sync(() => query(server, `DROP DATABASE ${restored} WITH (FORCE)`))
      )
      const file = join(folder, dumps[1] ?? "")
      execFileSync("pg_restore", ["--no-owner", "--dbname", restored, file], { env: connection(own) })
      const copy = new URL(own)
      copy.pathname = `/${restored}`
      assert.strictEqual(query(copy, `SELECT count(*) FROM generations WHERE key_id = '${id}'`), "1")
      assert.strictEqual(query(copy, `SELECT state FROM webhook_queue WHERE element LIKE '%${id}%'`), "pending")
    })
  )
})
