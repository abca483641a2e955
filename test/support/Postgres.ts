/**
 * A real Postgres for tests: the server of TOLLGATE_TEST_DATABASE_URL, or else one of the system's
 * binaries, on a free port of 127.0.0.1 with its data in a temporary directory. A whole run shares
 * one (globalSetup.ts), and each test file makes its own databases.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { inject } from "vitest"
import { Sql } from "../../src/store/sql/Sql.ts"

declare module "vitest" {
  export interface ProvidedContext {
    readonly postgresUrl: string
  }
}

export interface RunningServer {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** A server that a test can stop for a while: its data and its port stay. */
export interface OwnServer extends RunningServer {
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
}

const missing =
  "no Postgres for the tests: install one (apt-get install postgresql), " +
  "or set TOLLGATE_TEST_DATABASE_URL to a server where databases can be created"

const findBinaries = (): string => {
  const packaged = "/usr/lib/postgresql"
  const versions = existsSync(packaged) ? readdirSync(packaged).sort((a, b) => Number(b) - Number(a)) : []
  const directories = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(packaged, version, "bin"))
  ]
  const found = directories.find((one) => existsSync(join(one, "postgres")) && existsSync(join(one, "initdb")))
  if (found === undefined) throw new Error(missing)
  return found
}

/** Postgres refuses to run as root; then it runs as `postgres`, or as `nobody`. */
const unprivileged = (): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const idOf = (user: string, flag: "-u" | "-g") =>
    Number(execFileSync("id", [flag, user], { stdio: "pipe" }).toString())
  for (const user of ["postgres", "nobody"]) {
    try {
      return { uid: idOf(user, "-u"), gid: idOf(user, "-g") }
    } catch {
      // No such user: try the next one.
    }
  }
  throw new Error("Postgres does not run as root, and there is neither a user `postgres` nor `nobody` to run it as")
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/**
 * Resolves when the server reports that it accepts connections. Rejects with its output when it
 * stops before.
 */
const ready = (server: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let log = ""
    server.stderr?.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4_000)
      if (log.includes("ready to accept connections")) resolve()
    })
    server.once("error", reject)
    server.once("exit", () => reject(new Error(`Postgres stopped while starting:\n${log}`)))
  })

/** The server of TOLLGATE_TEST_DATABASE_URL if that is set, or else one for this run. */
export const startPostgres = async (settings: ReadonlyArray<string> = []): Promise<RunningServer> => {
  const given = process.env["TOLLGATE_TEST_DATABASE_URL"]
  if (given !== undefined && given !== "") return { url: given, stop: async () => {} }
  return spawnPostgres(settings)
}

/**
 * Starts a server. `stop` ends it and removes its data. `settings` are options of `postgres -c`.
 */
export const spawnPostgres = async (settings: ReadonlyArray<string> = []): Promise<OwnServer> => {
  const binaries = findBinaries()
  const user = unprivileged()
  const data = mkdtempSync(join(tmpdir(), "tollgate-postgres-"))
  if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid)
  execFileSync(
    join(binaries, "initdb"),
    ["-D", data, "-U", "tollgate", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
    { ...user, cwd: data, stdio: "pipe" }
  )
  const port = await freePort()
  const options = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300", ...settings]
  const run = async (): Promise<() => Promise<void>> => {
    const server = spawn(
      join(binaries, "postgres"),
      ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", ...options.flatMap((option) => ["-c", option])],
      { ...user, cwd: data, stdio: ["ignore", "ignore", "pipe"] }
    )
    const exited = new Promise<void>((resolve) => server.once("exit", () => resolve()))
    await ready(server)
    return async () => {
      server.kill("SIGINT")
      await exited
    }
  }
  let end = await run()
  return {
    url: `postgres://tollgate@127.0.0.1:${port}/postgres`,
    down: () => end(),
    up: async () => {
      end = await run()
    },
    stop: async () => {
      await end()
      rmSync(data, { recursive: true, force: true })
    }
  }
}

/**
 * Creates an empty database on the run's server and returns its URL. It is dropped when the scope
 * closes.
 */
export const freshDatabase = Effect.gen(function* () {
  const serverUrl = inject("postgresUrl")
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`
  const admin = Layer.fresh(PgClient.layer({ url: Redacted.make(serverUrl), maxConnections: 1 }))
  const run = (statement: string) =>
    Effect.provide(
      Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)),
      admin
    )
  yield* Effect.acquireRelease(
    run(`CREATE DATABASE ${name}`).pipe(Effect.retry(Schedule.recurs(3)), Effect.orDie),
    () => Effect.orDie(run(`DROP DATABASE ${name} WITH (FORCE)`))
  )
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return Redacted.make(url.href)
})

/** A new migrated database on the run's server. */
export const layerPostgres = Layer.unwrap(Effect.map(freshDatabase, (url) => Sql.layerPostgres({ url })))
