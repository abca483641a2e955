/**
 * One circuit a provider and model: after five failures in a row it opens, is tried again after a pause that doubles up to half a
 * minute, and closes with the first success. A request's own fault counts for nothing. An open circuit leaves the provider out of a
 * request's candidates without a call.
 */
import { type Cause, Context, Duration, Effect, type Exit, Layer, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { type Candidate } from "../domain/Catalog.ts"
import { ProviderError } from "../providers/Provider.ts"

/** The circuit did not let the call through. `retryAfterMs`: until it may; `null`: another request is probing. */
export class CircuitClosedToCalls extends Error {
  readonly _tag = "CircuitClosedToCalls"
  readonly retryAfterMs: number | null
  constructor(retryAfterMs: number | null) {
    super("the circuit is open")
    this.retryAfterMs = retryAfterMs
  }
}

export interface CircuitState {
  readonly state: "closed" | "open" | "half_open"
  /** Unix milliseconds at which an open circuit is tried again. */
  readonly openForMs: number | null
}

export class Circuits extends Context.Service<
  Circuits,
  {
    readonly guard: (
      candidate: Candidate
    ) => <A, R>(call: Effect.Effect<A, ProviderError, R>) => Effect.Effect<A, ProviderError | CircuitClosedToCalls, R>
    readonly state: (candidate: Candidate) => Effect.Effect<CircuitState>
  }
>()("tollgate/gateway/Circuits") {
  static readonly layerNoStore = Layer.effect(
    Circuits,
    Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(5),
        openDuration: Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")]),
        maxOpenDuration: "2 minutes"
      })
      return Circuits.of({
        guard: (candidate) => (call) =>
          breaker.execute(call, { key: keyOf(candidate), classify }).pipe(
            Effect.mapError((error) => {
              if (error instanceof ProviderError) return error
              return new CircuitClosedToCalls(
                error.reason._tag === "CircuitOpen" ? Duration.toMillis(error.reason.retryAfter) : null
              )
            })
          ),
        state: (candidate) =>
          breaker.state(keyOf(candidate)).pipe(
            Effect.map((state): CircuitState => {
              switch (state._tag) {
                case "Closed":
                  return { state: "closed", openForMs: null }
                case "Open":
                  return { state: "open", openForMs: Duration.toMillis(state.retryAfter) }
                case "HalfOpen":
                  return { state: "half_open", openForMs: null }
              }
            }),
            Effect.orElseSucceed((): CircuitState => ({ state: "closed", openForMs: null }))
          )
      })
    })
  )

  /** Circuits of this process alone. */
  static readonly layerMemory = Circuits.layerNoStore.pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))

  /** Circuits that all processes on one Redis share. While it is away, calls pass unrecorded. */
  static readonly layerRedis = Circuits.layerNoStore.pipe(
    Layer.provide(CircuitBreaker.layerStoreRedis({ prefix: "tollgate:circuit:" }))
  )
}

const keyOf = ({ offer, provider }: Candidate): string => `${provider.slug}|${offer.id}`

const failureOf = (cause: Cause.Cause<unknown>): ProviderError | undefined => {
  const reason = cause.reasons.find((entry) => entry._tag === "Fail")
  return reason !== undefined && reason.error instanceof ProviderError ? reason.error : undefined
}

const classify = (exit: Exit.Exit<unknown, unknown>): CircuitBreaker.Outcome => {
  if (exit._tag === "Success") return CircuitBreaker.success
  const error = failureOf(exit.cause)
  if (error === undefined || error.reason._tag === "Rejected" || error.reason._tag === "Unsupported")
    return CircuitBreaker.ignored
  return error.retryAfterMs === null
    ? CircuitBreaker.failure()
    : CircuitBreaker.failure({ retryAfter: Duration.millis(error.retryAfterMs) })
}
