/**
 * OpenTelemetry's standard variables: targets of traces and metrics, and sampling. Variables that
 * the gateway supports are validated, other `OTEL_*` are ignored. Without an endpoint nothing is
 * exported.
 */
import { Redacted, Result, Schema } from "effect"
import { type EnvironmentVariables } from "../Environment.ts"
import { decodeAt, type Faults } from "../Faults.ts"
import { choice, httpUrl, integer, number, secret, text, withoutTrailingSlash } from "../Forms.ts"

export const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

export interface ExportTarget {
  /** With its path. */
  readonly url: string
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly timeoutMs: number
  readonly gzip: boolean
}

export interface TelemetrySettings {
  readonly serviceName: string
  /** Resource attributes. */
  readonly attributes: Readonly<Record<string, string>>
  /** `null`: traces are off. */
  readonly traces:
    | (ExportTarget & {
        readonly sampler: (typeof samplers)[number]
        /** For samplers with a ratio: share of traces, 0 to 1. */
        readonly ratio: number
        readonly delayMs: number
        readonly queueSize: number
        readonly batchSize: number
        /** True if prompts and answers are recorded, masked. */
        readonly capturesContent: boolean
      })
    | null
  /** `null`: metrics are not exported. */
  readonly metrics:
    (ExportTarget & { readonly intervalMs: number; readonly temporality: "cumulative" | "delta" }) | null
}

export const noTelemetry: TelemetrySettings = { serviceName: "tollgate", attributes: {}, traces: null, metrics: null }

/** `name=value,name=value`, percent-encoded, as in W3C Baggage. */
const isPairs = (value: string): boolean => pairsOf(value) !== null

const pairsOf = (value: string): Readonly<Record<string, string>> | null => {
  const entries = value.split(",").filter((entry) => entry.trim() !== "")
  const pairs = entries.map((entry) => {
    const at = entry.indexOf("=")
    const decoded = Result.try(() => decodeURIComponent(entry.slice(at + 1).trim()))
    return at > 0 && Result.isSuccess(decoded) ? ([entry.slice(0, at).trim(), decoded.success] as const) : null
  })
  return pairs.every((pair) => pair !== null) ? Object.fromEntries(pairs) : null
}

const endpoint = () => Schema.optionalKey(httpUrl("http://127.0.0.1:4318"))
const headers = () => Schema.optionalKey(secret("name=value,name=value", isPairs))
const timeout = () => Schema.optionalKey(integer("milliseconds, from 1 to 600000", 1, 600_000))
const compression = () => Schema.optionalKey(choice(["gzip", "none"]))
const protocol = () => Schema.optionalKey(choice(["http/protobuf"]))
const exporter = () => Schema.optionalKey(choice(["otlp", "none"]))
const flag = () => Schema.optionalKey(choice(["true", "false"]))
const count = () => Schema.optionalKey(integer("a whole number from 1 to 1000000", 1, 1_000_000))

export const TelemetryEnvironment = Schema.Struct({
  OTEL_SDK_DISABLED: flag(),
  OTEL_SERVICE_NAME: Schema.optionalKey(text("a name")),
  OTEL_RESOURCE_ATTRIBUTES: Schema.optionalKey(text("name=value,name=value", isPairs)),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol(),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol(),
  OTEL_EXPORTER_OTLP_TIMEOUT: timeout(),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeout(),
  OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: timeout(),
  OTEL_EXPORTER_OTLP_COMPRESSION: compression(),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression(),
  OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: compression(),
  OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: Schema.optionalKey(choice(["cumulative", "delta"])),
  OTEL_TRACES_EXPORTER: exporter(),
  OTEL_METRICS_EXPORTER: exporter(),
  OTEL_TRACES_SAMPLER: Schema.optionalKey(choice(samplers)),
  OTEL_TRACES_SAMPLER_ARG: Schema.optionalKey(number("a share from 0 to 1", 0, 1)),
  OTEL_BSP_SCHEDULE_DELAY: timeout(),
  OTEL_BSP_MAX_QUEUE_SIZE: count(),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: count(),
  OTEL_METRIC_EXPORT_INTERVAL: timeout(),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: flag()
})

const names = Object.keys(TelemetryEnvironment.fields)

/** Decodes the OpenTelemetry variables. `env` has no empty ones. */
export const decodeTelemetry = (env: EnvironmentVariables): Result.Result<TelemetrySettings, Faults> => {
  const ours = Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)))
  return Result.map(decodeAt(TelemetryEnvironment, { value: ours, path: [], hidden: new Set() }), settingsOf)
}

const settingsOf = (env: typeof TelemetryEnvironment.Type): TelemetrySettings => {
  const disabled = env.OTEL_SDK_DISABLED === "true"
  const attributes = pairsOf(env.OTEL_RESOURCE_ATTRIBUTES ?? "") ?? {}
  const target = (signal: "TRACES" | "METRICS"): ExportTarget | null => {
    const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]
    const common = env.OTEL_EXPORTER_OTLP_ENDPOINT
    const chosen = env[`OTEL_${signal}_EXPORTER`]
    if (disabled || chosen === "none" || (own ?? common) === undefined) return null
    const sent = env[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`] ?? env.OTEL_EXPORTER_OTLP_HEADERS
    const pairs = sent === undefined ? {} : (pairsOf(Redacted.value(sent)) ?? {})
    return {
      // A signal's own endpoint is used unchanged. The common endpoint gets the signal's path.
      url: own ?? `${withoutTrailingSlash(common ?? "")}/v1/${signal.toLowerCase()}`,
      headers: Object.fromEntries(Object.entries(pairs).map(([name, value]) => [name, Redacted.make(value)])),
      timeoutMs: env[`OTEL_EXPORTER_OTLP_${signal}_TIMEOUT`] ?? env.OTEL_EXPORTER_OTLP_TIMEOUT ?? 10_000,
      gzip: (env[`OTEL_EXPORTER_OTLP_${signal}_COMPRESSION`] ?? env.OTEL_EXPORTER_OTLP_COMPRESSION) === "gzip"
    }
  }
  const [traces, metrics] = [target("TRACES"), target("METRICS")]
  return {
    serviceName: env.OTEL_SERVICE_NAME ?? attributes["service.name"] ?? noTelemetry.serviceName,
    attributes,
    traces: traces && {
      ...traces,
      sampler: env.OTEL_TRACES_SAMPLER ?? "parentbased_always_on",
      ratio: env.OTEL_TRACES_SAMPLER_ARG ?? 1,
      delayMs: env.OTEL_BSP_SCHEDULE_DELAY ?? 5_000,
      queueSize: env.OTEL_BSP_MAX_QUEUE_SIZE ?? 2_048,
      batchSize: Math.min(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE ?? 512, env.OTEL_BSP_MAX_QUEUE_SIZE ?? 2_048),
      capturesContent: env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === "true"
    },
    metrics: metrics && {
      ...metrics,
      intervalMs: env.OTEL_METRIC_EXPORT_INTERVAL ?? 60_000,
      temporality: env.OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE ?? "cumulative"
    }
  }
}
