/** What a gateway on this machine would stand on: settings, Node, the data directory or Postgres, and Redis. Nothing is changed. */
import { Clock, Effect, Option, Redacted, Result } from "effect"
import { accessSync, constants, statfsSync, statSync } from "node:fs"
import { type SettingsShape } from "../Settings.ts"
import { clockFinding, failed, type Finding, ok, warning } from "./Finding.ts"

const LEAST_NODE = 24
const LEAST_FREE_BYTES = 1024 ** 3

export const checkNode = (version: string): Finding =>
  Number(version.split(".")[0]) >= LEAST_NODE
    ? ok("node", version)
    : failed("node", version, `Run it by scripts/start or scripts/tollgate, which know Node ${LEAST_NODE}.`)

/** The embedded database's directory; one that is not there yet is made by the first start. */
export const checkDataDirectory = (directory: string): Effect.Effect<Finding> =>
  Effect.try((): Finding => {
    const stat = statSync(directory, { throwIfNoEntry: false })
    if (stat === undefined) return ok("database", `embedded; ${directory} is made by the first start`)
    if (!stat.isDirectory()) {
      return failed("database", `${directory} is no directory`, "Name another with TOLLGATE_DATA_DIR.")
    }
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    if ((stat.mode & 0o077) !== 0 && process.platform !== "win32") {
      return warning("database", `others may look into ${directory}`, `chmod 700 ${directory}`)
    }
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize < LEAST_FREE_BYTES
      ? warning("database", `less than 1 GiB is free for ${directory}`, "Make room, or move it with TOLLGATE_DATA_DIR.")
      : ok("database", `embedded, in ${directory}`)
  }).pipe(
    Effect.catch(() =>
      Effect.succeed(
        failed("database", `${directory} cannot be written`, "Give it to the user that the gateway runs as, mode 700.")
      )
    )
  )

const addressOf = (url: Redacted.Redacted): string => new URL(Redacted.value(url)).host

/** A server of the settings: that it answers, its version, and its clock. */
const checkServer = Effect.fnUntraced(function* (
  part: "database" | "redis",
  url: Redacted.Redacted
): Effect.fn.Return<ReadonlyArray<Finding>> {
  const probes = yield* Effect.promise(() => import("../store/sql/Connectivity.ts"))
  const [name, variable] = part === "database" ? ["Postgres", "DATABASE_URL"] : ["Redis", "REDIS_URL"]
  const asked = yield* Effect.result(part === "database" ? probes.probePostgres(url) : probes.probeRedis(url))
  if (Result.isFailure(asked)) {
    return [
      failed(
        part,
        `${name} at ${addressOf(url)}: ${asked.failure.message}`,
        `Is ${name} running there, and are user, password and name in ${variable} right?`
      )
    ]
  }
  const { clockMs, version } = asked.success
  const driftMs = clockMs - (yield* Clock.currentTimeMillis)
  return [ok(part, `${name} ${version} at ${addressOf(url)}`), clockFinding(`${name}'s`, driftMs)]
})

/** Everything but the providers. `dataDir`: the line's own word for it. */
export const checkMachine = Effect.fnUntraced(function* (settings: SettingsShape, dataDir: Option.Option<string>) {
  const { databaseUrl, redisUrl } = settings
  const directory = Option.getOrElse(dataDir, () => settings.dataDir)
  const found = yield* Effect.all(
    [
      databaseUrl === null
        ? Effect.map(checkDataDirectory(directory), (one) => [one])
        : checkServer("database", databaseUrl),
      redisUrl === null
        ? Effect.succeed([ok("redis", "not set: limits and cache are in memory")])
        : checkServer("redis", redisUrl)
    ],
    { concurrency: "unbounded" }
  )
  return found.flat()
})
