/**
 * Settings that only environment variables can set. An empty variable counts as unset.
 * `DATABASE_URL` and `REDIS_URL` are secret, because they contain passwords. Unknown `TOLLGATE_*`
 * variables are faults. Other variables are ignored here; Telemetry.ts reads `OTEL_*`.
 */
import { Result, Schema } from "effect"
import { decodeAt, type Faults, unknownName } from "./Faults.ts"
import { choice, host, integer, isUrlOf, secret, text } from "./Forms.ts"
import { type SettingsFault } from "./SettingsError.ts"

/** Variables by name, as in `process.env`. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

const postgresForm = "postgres://user:password@host:5432/name"
const redisForm = "redis://host:6379 or rediss://host:6379"

/** Every variable that the gateway reads, all optional. Times in milliseconds. */
export const Environment = Schema.Struct({
  TOLLGATE_HOST: Schema.optionalKey(host()),
  TOLLGATE_PORT: Schema.optionalKey(integer("a whole number from 0 to 65535 (0: the system chooses)", 0, 65_535)),
  TOLLGATE_ADMIN_PORT: Schema.optionalKey(integer("a whole number from 0 to 65535 (0: the system chooses)", 0, 65_535)),
  TOLLGATE_ADMIN_KEY: Schema.optionalKey(
    secret("at least 16 characters without spaces", (key) => /^\S{16,}$/.test(key))
  ),
  TOLLGATE_DATA_DIR: Schema.optionalKey(text("a directory, such as ./.tollgate")),
  DATABASE_URL: Schema.optionalKey(secret(postgresForm, isUrlOf(["postgres:", "postgresql:"]))),
  TOLLGATE_DATABASE_POOL: Schema.optionalKey(integer("a whole number of connections from 1 to 1000", 1, 1_000)),
  REDIS_URL: Schema.optionalKey(secret(redisForm, isUrlOf(["redis:", "rediss:"]))),
  TOLLGATE_WORKERS: Schema.optionalKey(integer("a whole number of processes from 1 to 64", 1, 64)),
  TOLLGATE_CONFIG: Schema.optionalKey(text("the path of a YAML file, such as ./tollgate.yaml")),
  TOLLGATE_ENV: Schema.optionalKey(choice(["development", "production"])),
  TOLLGATE_LOG_LEVEL: Schema.optionalKey(choice(["trace", "debug", "info", "warn", "error", "none"])),
  TOLLGATE_LOG_FORMAT: Schema.optionalKey(choice(["pretty", "json"])),
  TOLLGATE_MAX_BODY_BYTES: Schema.optionalKey(
    integer("a whole number of bytes from 1024 to 1073741824", 1_024, 1_073_741_824)
  ),
  TOLLGATE_BODY_TIMEOUT_MS: Schema.optionalKey(integer("milliseconds, from 1 to 3600000", 1, 3_600_000)),
  TOLLGATE_DRAIN_TIMEOUT_MS: Schema.optionalKey(integer("milliseconds, from 0 to 3600000", 0, 3_600_000)),
  TOLLGATE_SHUTDOWN_GRACE_MS: Schema.optionalKey(integer("milliseconds, from 0 to 3600000", 0, 3_600_000)),
  TOLLGATE_RESPONSES_RETENTION_DAYS: Schema.optionalKey(integer("whole days, from 1 to 3650", 1, 3_650))
})
export type Environment = typeof Environment.Type

const names = Object.keys(Environment.fields)

/** Variables of the project's tests and benchmarks, which may be set next to a running gateway. */
const ofTheChecks = /^TOLLGATE_(TEST|BENCH)_/

/**
 * Variables of the command line (CommandLine.ts), which may be set in the gateway's environment.
 */
const ofTheCommandLine: ReadonlyArray<string> = ["TOLLGATE_URL", "TOLLGATE_API_KEY"]

/** Variables by which Kubernetes describes a Service whose name begins with `tollgate`. */
const serviceLinkName =
  /^TOLLGATE_(?:\w+_)?(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/
const serviceLinkAddress = /^(?:tcp|udp|sctp):\/\//

const isServiceLink = (name: string, value: string): boolean =>
  serviceLinkName.test(name) || (/^TOLLGATE_(?:\w+_)?PORT$/.test(name) && serviceLinkAddress.test(value))

/** The variables without empty ones and, inside Kubernetes, without its Service descriptions. */
export const presentVariables = (env: EnvironmentVariables): EnvironmentVariables => {
  const isCluster = env["KUBERNETES_SERVICE_HOST"] !== undefined
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) => value !== undefined && value !== "" && !(isCluster && isServiceLink(name, value))
    )
  )
}

/** Decodes the gateway's variables. `env` has no empty ones. */
export const decodeEnvironment = (env: EnvironmentVariables): Result.Result<Environment, Faults> => {
  const ours = Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)))
  const decoded = decodeAt(Environment, { value: ours, path: [], hidden: new Set() })
  const faults = [...(Result.isFailure(decoded) ? decoded.failure : []), ...missingForWorkers(env)]
  return faults.length === 0 ? decoded : Result.fail(faults)
}

/**
 * Unknown `TOLLGATE_*` variables. `referred`: names that the settings file refers to, which are
 * allowed.
 */
export const unknownVariables = (env: EnvironmentVariables, referred: ReadonlySet<string>): Faults =>
  Object.keys(env)
    .filter(
      (name) =>
        name.startsWith("TOLLGATE_") &&
        !ofTheChecks.test(name) &&
        !ofTheCommandLine.includes(name) &&
        !names.includes(name) &&
        !referred.has(name)
    )
    .map((name) =>
      unknownName(
        name,
        name,
        names.filter((known) => known.startsWith("TOLLGATE_")),
        "TOLLGATE_"
      )
    )

/** Several processes need a shared ledger and shared limits. */
const missingForWorkers = (env: EnvironmentVariables): ReadonlyArray<SettingsFault> => {
  const workers = Number(env.TOLLGATE_WORKERS ?? 1)
  if (!(workers > 1)) return []
  return [
    { setting: "DATABASE_URL", form: postgresForm },
    { setting: "REDIS_URL", form: redisForm }
  ]
    .filter(({ setting }) => env[setting] === undefined)
    .map(({ setting, form }) => ({
      setting,
      problem: `is missing though TOLLGATE_WORKERS is ${workers}`,
      expected: form
    }))
}
