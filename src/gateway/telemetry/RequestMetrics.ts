/**
 * Metrics of requests, recorded once per request when it ends: statuses, rejections, cache,
 * provider calls, tokens, times, money. Labels have few values, all of them from the code or the
 * settings: declared routes, statuses, configured providers and models. Keys, ids and client text
 * are never labels.
 */
import { Context, Effect, Layer, Metric, Schedule, type Scope } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { type ResponseMetadata } from "../request/ResponseMetadata.ts"
import { type Rejection, RequestCounters } from "./RequestCounters.ts"

export interface EndedRequest {
  readonly method: string
  /** As declared, such as `/v1/keys/:key_id`; `unmatched` when there is no such route. */
  readonly route: string
  /** 499: the client left before there was a response. */
  readonly status: number
  /** From the request's arrival to the last byte of the response. */
  readonly durationMs: number
  readonly rejection: Rejection | null
  readonly metadata: ResponseMetadata
}

/** Upper bounds of buckets, in seconds and in tokens. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const operationSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const firstTokenSeconds = [0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const tokenSeconds = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1]
const tokens = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]

type Attributes = Readonly<Record<string, string>>
type Made = { readonly description: string; readonly attributes: Attributes }

/** The series of a family by their label values, found without an object for each look-up. */
class SeriesTree<State> {
  metric: Metric.Metric<number, State> | null = null
  readonly #byLabel = new Map<string, SeriesTree<State>>()

  under(label: string): SeriesTree<State> {
    const known = this.#byLabel.get(label)
    if (known !== undefined) return known
    const added = new SeriesTree<State>()
    this.#byLabel.set(label, added)
    return added
  }
}

export class RequestMetrics extends Context.Service<
  RequestMetrics,
  {
    readonly onStart: () => void
    readonly onEnd: (request: EndedRequest) => void
    /** Registers an effect that updates gauges, until the scope closes. */
    readonly beforeReading: (refresh: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
    /** Updates the gauges. */
    readonly refresh: Effect.Effect<void>
    /** Provides the `MetricRegistry` that holds all metrics. */
    readonly context: Context.Context<never>
  }
>()("tollgate/gateway/telemetry/RequestMetrics") {
  /** Records into the `MetricRegistry` of the context in which it is built. */
  static readonly layer = Layer.effect(
    RequestMetrics,
    Effect.gen(function* () {
      const context = yield* Effect.context()
      const requestCounters = yield* RequestCounters
      /**
       * One series per combination of up to four label values, created on first use. An empty value
       * omits the label.
       */
      const family = <State>(
        names: ReadonlyArray<string>,
        unit: string,
        description: string,
        make: (made: Made) => Metric.Metric<number, State>
      ) => {
        const all = new SeriesTree<State>()
        return (value: number, first = "", second = "", third = "", fourth = ""): void => {
          const series = all.under(first).under(second).under(third).under(fourth)
          if (series.metric === null) {
            const values = [first, second, third, fourth]
            const labels = names
              .map((name, at) => [name, values[at] ?? ""] as const)
              .filter(([, value]) => value !== "")
            series.metric = make({ description, attributes: { ...Object.fromEntries(labels), unit } })
          }
          series.metric.updateUnsafe(value, context)
        }
      }
      const counter = (id: string, names: ReadonlyArray<string>, unit: string, description: string) =>
        family(names, unit, description, (made) => Metric.counter(id, { ...made, incremental: true }))
      const histogram = (
        id: string,
        names: ReadonlyArray<string>,
        unit: string,
        description: string,
        boundaries: ReadonlyArray<number>
      ) => family(names, unit, description, (made) => Metric.histogram(id, { ...made, boundaries }))

      const ofModel = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.response.model"]
      const tokenUsage = histogram(
        "gen_ai.client.token.usage",
        [...ofModel, "gen_ai.token.type"],
        "{token}",
        "Tokens of a request that a provider answered",
        tokens
      )
      const operationDuration = histogram(
        "gen_ai.client.operation.duration",
        [...ofModel, "error.type"],
        "s",
        "Time of a request that went to a provider",
        operationSeconds
      )
      const firstToken = histogram(
        "gen_ai.server.time_to_first_token",
        ofModel,
        "s",
        "Time to the first token of a stream",
        firstTokenSeconds
      )
      const perToken = histogram(
        "gen_ai.server.time_per_output_token",
        ofModel,
        "s",
        "Time for each token of a stream after its first",
        tokenSeconds
      )
      const duration = histogram(
        "http.server.request.duration",
        ["http.request.method", "http.route", "http.response.status_code"],
        "s",
        "Time from a request's arrival to the last byte of its response",
        requestSeconds
      )
      const requests = counter(
        "tollgate.requests",
        ["http.request.method", "http.route", "http.response.status_code"],
        "{request}",
        "Requests by status"
      )
      const rejections = counter("tollgate.rejections", ["policy"], "{request}", "Requests refused by a policy")
      const lookups = counter("tollgate.cache.lookups", ["result"], "{request}", "Chat requests by cache result")
      const attempts = counter(
        "tollgate.provider.attempts",
        ["gen_ai.provider.name", "gen_ai.response.model", "status", "error.type"],
        "{call}",
        "Calls to providers by their outcome"
      )
      const fallbacks = counter(
        "tollgate.fallbacks",
        ["gen_ai.provider.name"],
        "{request}",
        "Requests answered by a fallback provider"
      )
      const cost = counter("tollgate.cost", ofModel.slice(1), "USD", "Billed cost of generations")
      const saved = counter("tollgate.cache.saved", ofModel.slice(1), "USD", "Cost saved by cache hits")
      const overhead = histogram(
        "tollgate.gateway.overhead",
        [],
        "s",
        "Time that the gateway added to a whole response",
        requestSeconds.map((seconds) => seconds / 10)
      )
      const active = Metric.gauge("tollgate.requests.active", {
        description: "Requests in progress",
        attributes: { unit: "{request}" }
      })

      const generated = (operation: string, one: Generation): void => {
        for (const { errorType, model, provider, status } of one.attempts) {
          attempts(1, provider, model, status, errorType ?? "")
        }
        // No provider was called, so the model's name may be client text.
        if (one.provider === "") return
        if (one.cost.billedNano > 0) cost(usdFromNano(one.cost.billedNano), one.provider, one.model)
        if (one.cacheHit) return saved(usdFromNano(one.cost.cacheDiscountNano), one.provider, one.model)
        if (one.fallbackUsed) fallbacks(1, one.provider)
        const { model, provider, usage } = one
        const { completionTokens, promptTokens } = usage
        const ended = one.cancelled ? "cancelled" : (one.errorType ?? "")
        operationDuration(one.latencyMs / 1000, operation, provider, model, ended)
        if (promptTokens > 0) tokenUsage(promptTokens, operation, provider, model, "input")
        if (completionTokens > 0) tokenUsage(completionTokens, operation, provider, model, "output")
        if (one.timeToFirstTokenMs === null) {
          if (one.errorType !== null || one.cancelled) return
          const ms = overheadMs(one)
          overhead(ms / 1000)
          return requestCounters.recordOverhead(ms)
        }
        firstToken(one.timeToFirstTokenMs / 1000, operation, provider, model)
        if (completionTokens > 1) {
          const seconds = (one.latencyMs - one.timeToFirstTokenMs) / 1000
          perToken(seconds / (completionTokens - 1), operation, provider, model)
        }
      }

      const refreshes = new Set<Effect.Effect<void>>()

      return RequestMetrics.of({
        context,
        beforeReading: (refresh) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => void refreshes.add(refresh)),
              () => Effect.sync(() => void refreshes.delete(refresh))
            )
          ),
        refresh: Effect.suspend(() => Effect.forEach(refreshes, (refresh) => refresh, { discard: true })),
        onStart: () => active.modifyUnsafe(1, context),
        onEnd: ({ durationMs, metadata, method, rejection, route, status }) => {
          active.modifyUnsafe(-1, context)
          requests(1, method, route, String(status))
          duration(durationMs / 1000, method, route, String(status))
          if (rejection !== null) rejections(1, rejection)
          if (metadata.cache !== null) lookups(1, metadata.cache)
          if (metadata.generation !== null) generated(metadata.operation ?? "chat", metadata.generation)
        }
      })
    })
  )

  /** Updates the gauges at the interval at which metrics are exported. */
  static readonly layerRefreshing = ({ metrics }: { readonly metrics: { readonly intervalMs: number } | null }) =>
    metrics === null
      ? Layer.empty
      : Layer.effectDiscard(
          Effect.flatMap(RequestMetrics, ({ refresh }) =>
            Effect.forkScoped(Effect.repeat(refresh, Schedule.spaced(metrics.intervalMs)))
          )
        )
}

const overheadMs = ({ attempts, latencyMs }: Generation): number => {
  let ms = latencyMs
  for (const attempt of attempts) ms -= attempt.latencyMs
  return Math.max(0, ms)
}
