/**
 * Checks the dependencies of a gateway on this machine: Node, the data directory or Postgres, and
 * Redis. It changes nothing.
 */
import { Clock, Effect, Option, Redacted, Result } from "effect"
import { accessSync, constants, statfsSync, statSync } from "node:fs"
import type { SettingsShape } from "../../Settings.ts"
import { clockFinding, failed, type Finding, ok, warning } from "./Finding.ts"

const LEAST_NODE = 24
const LEAST_FREE_BYTES = 1024 ** 3

export const checkNode = (version: string): Finding =>
  Number(version.split(".")[0]) >= LEAST_NODE
    ? ok("node", version)
    : failed("node", version, `Run it with scripts/start or scripts/tollgate, which use Node ${LEAST_NODE}.`)

/** Checks the embedded database's directory. A missing one is fine: the first start creates it. */
export const checkDataDirectory = (directory: string): Effect.Effect<Finding> =>
  Effect.try((): Finding => {
    const stat = statSync(directory, { throwIfNoEntry: false })
    if (stat === undefined) return ok("database", `embedded; the first start creates ${directory}`)
    if (!stat.isDirectory()) {
      return failed("database", `${directory} is not a directory`, "Set another with TOLLGATE_DATA_DIR.")
    }
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    if ((stat.mode & 0o077) !== 0 && process.platform !== "win32") {
      return warning("database", `other users can read ${directory}`, `chmod 700 ${directory}`)
    }
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize < LEAST_FREE_BYTES
      ? warning(
          "database",
          `less than 1 GiB is free for ${directory}`,
          "Free some space, or move it with TOLLGATE_DATA_DIR."
        )
      : ok("database", `embedded, in ${directory}`)
  }).pipe(
    Effect.catch(() =>
      Effect.succeed(
        failed("database", `${directory} cannot be written`, "Make the gateway's user its owner, with mode 700.")
      )
    )
  )

const addressOf = (url: Redacted.Redacted): string => new URL(Redacted.value(url)).host

/** Checks a server of the settings: reachability, version and clock. */
const checkServer = Effect.fnUntraced(function* (
  part: "database" | "redis",
  url: Redacted.Redacted
): Effect.fn.Return<ReadonlyArray<Finding>> {
  const probes = yield* Effect.promise(() => import("../../store/sql/Connectivity.ts"))
  const [name, variable] = part === "database" ? ["Postgres", "DATABASE_URL"] : ["Redis", "REDIS_URL"]
  const probed = yield* Effect.result(part === "database" ? probes.probePostgres(url) : probes.probeRedis(url))
  if (Result.isFailure(probed)) {
    return [
      failed(
        part,
        `${name} at ${addressOf(url)}: ${probed.failure.message}`,
        `Is ${name} running there, and are user, password and name in ${variable} right?`
      )
    ]
  }
  const { clockMs, version } = probed.success
  const driftMs = clockMs - (yield* Clock.currentTimeMillis)
  return [ok(part, `${name} ${version} at ${addressOf(url)}`), clockFinding(`${name}'s`, driftMs)]
})

/** Checks all but the providers. `dataDir`: the value of the command line's flag. */
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
