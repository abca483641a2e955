/**
 * One circuit for each provider and model. It opens after five failures in a row, is probed after a
 * pause that doubles up to half a minute, and closes with the first success. A provider that
 * refuses the gateway's credentials gets no calls for half a minute; a forbidden model likewise. A
 * client's error does not count. A stream that breaks off after its first token is a failure, and
 * later first tokens are no success until a stream ends well. Open circuits leave the candidates.
 *
 * If a provider has several keys, a refused key and a key at its rate limit get no calls for a
 * while, and the circuit does not count them. It counts the failures that concern every key.
 */
import { Clock, Context, Duration, Effect, Exit, Layer, PubSub, Schedule, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { type Candidate } from "../../domain/Catalog.ts"
import { ProviderError } from "../../providers/Provider.ts"
import { LockoutStore } from "../../store/providerState/LockoutStore.ts"
import { CircuitOpenError } from "./CircuitOpenError.ts"
import { type CircuitChange, type CircuitState, closed, keyOf, type Refusal } from "./CircuitState.ts"
import { classify, failureOf } from "./CircuitOutcome.ts"
import { makeCircuitLog } from "./CircuitLog.ts"
import { CircuitUsers } from "./CircuitUsers.ts"
import { makeLockouts } from "./Lockouts.ts"
import { makeTroubled } from "./Troubled.ts"

/** How often the refusals and failures that other processes saw are read. */
const LEARN_EVERY = "1 second"

export class Circuits extends Context.Service<
  Circuits,
  {
    /**
     * `opensStream`: the call succeeds with a stream's first token and may still break off.
     * `keyId`: the client's key; failures of one key count once while another key uses the circuit.
     */
    readonly guard: (
      candidate: Candidate,
      opensStream?: boolean,
      keyId?: string | null
    ) => <A, R>(call: Effect.Effect<A, ProviderError, R>) => Effect.Effect<A, ProviderError | CircuitOpenError, R>
    /**
     * Begins a call without a guard, if its circuit is known to be closed without failures, and no
     * provider is locked out. False: it needs the guard.
     */
    readonly beginQuiet: (candidate: Candidate, keyId: string | null) => boolean
    /** The end of a call that began without a guard. Undefined: it changes nothing. */
    readonly ended: (
      candidate: Candidate,
      exit: Exit.Exit<unknown, ProviderError | CircuitOpenError>,
      opensStream: boolean,
      keyId: string | null
    ) => Effect.Effect<void> | undefined
    /** A stream broke off by the provider's fault. A client that leaves does not count. */
    readonly recordBreak: (candidate: Candidate, error: ProviderError, keyId?: string | null) => Effect.Effect<void>
    /** A stream came to its end. Known at once, unless a stream of the circuit broke off before. */
    readonly recordEnd: (candidate: Candidate) => Effect.Effect<void>
    readonly state: (candidate: Candidate) => Effect.Effect<CircuitState>
    /**
     * The state that this process knows. A circuit without failures here counts as closed, and no
     * store is read.
     */
    readonly stateHere: (candidate: Candidate) => Effect.Effect<CircuitState>
    /**
     * How long the candidate gets no request of the client's key, in milliseconds; 0: it may be
     * called.
     */
    readonly lockedMs: (candidate: Candidate, keyId: string | null) => number
    /**
     * Since when the provider refuses the gateway's credentials, in Unix milliseconds; null: it
     * does not, or has answered since. Some requests may be tried meanwhile.
     */
    readonly refusedSinceMs: (candidate: Candidate) => number | null
    readonly changes: Stream.Stream<CircuitChange>
    readonly refusals: Stream.Stream<Refusal>
  }
>()("tollgate/gateway/health/Circuits") {
  /** `store`: shared lockouts and marks of trouble; null: none are shared. */
  static readonly #make = (store: LockoutStore["Service"] | null) =>
    Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(5),
        openDuration: Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")]),
        maxOpenDuration: "2 minutes"
      })
      const clock = yield* Clock.Clock
      const lockouts = makeLockouts(store, clock)
      const troubled = makeTroubled(store)
      if (store !== null) {
        const learning = Effect.ignore(Effect.andThen(lockouts.learn, troubled.learn))
        yield* learning
        yield* Effect.forkScoped(Effect.forever(Effect.delay(learning, LEARN_EVERY)))
      }
      const refusals = yield* PubSub.unbounded<Refusal>()
      const log = yield* makeCircuitLog(clock)
      yield* breaker.transitions.pipe(
        Stream.filter(({ from, to }) => from === "Closed" || to === "Closed"),
        Stream.runForEach(({ key, to }) => (to === "Open" ? log.opened(key) : log.closed(key))),
        Effect.forkScoped({ startImmediately: true })
      )

      const lockOut = Effect.fnUntraced(function* (candidate: Candidate, error: ProviderError, keyId: string | null) {
        const status = error.httpStatus ?? 0
        const wasSuspect = lockouts.sinceMs(candidate) !== null
        const isNews = yield* lockouts.add(candidate, status, keyId)
        // With several keys, once the last one is refused.
        if (isNews && !wasSuspect && lockouts.sinceMs(withoutKey(candidate)) !== null)
          yield* log.refused(candidate, error)
        const { key, offer, provider } = candidate
        const refusal = { provider: provider.slug, model: offer.id, status, ...(key === undefined ? {} : { key }) }
        if (isNews) yield* PubSub.publish(refusals, refusal)
        yield* Effect.annotateLogs(
          Effect.logError(
            "a provider refuses the gateway's credentials: check its key and account; other providers get the requests meanwhile"
          ),
          refusal
        )
      })

      const users = new CircuitUsers(clock)

      /** Circuits of which a stream broke off and none has come to its end since. */
      const breaking = new Set<string>()

      /** How a call's outcome counts. After a stream broke off, a first token is no success. */
      const classifying =
        (key: string, hasKeys: boolean, opensStream: boolean, keyId: string | null) =>
        (exit: Exit.Exit<unknown, unknown>) => {
          if (exit._tag === "Success" && breaking.has(key)) {
            if (opensStream) return CircuitBreaker.ignored
            breaking.delete(key)
          }
          const outcome = classify(exit, hasKeys)
          if (outcome._tag === "Success") users.succeeded(key)
          const error = outcome._tag === "Failure" ? failureOf(exit) : undefined
          if (error !== undefined) log.failed(key, error)
          return outcome._tag === "Failure" && !users.countsFailure(key, keyId) ? CircuitBreaker.ignored : outcome
        }

      /**
       * Locks out a provider that refused the gateway's credentials, and tells the operator. One of
       * several keys that reached its rate limit cools down.
       */
      const onRefusal = (candidate: Candidate, error: ProviderError, keyId: string | null) =>
        error.reason._tag === "CredentialsRefused"
          ? lockOut(candidate, error, keyId)
          : candidate.key !== undefined && error.isKeysFault
            ? lockouts.coolDown(candidate, error.retryAfterMs, keyId)
            : Effect.void

      const guarded = <A, R>(
        candidate: Candidate,
        call: Effect.Effect<A, ProviderError, R>,
        opensStream: boolean,
        keyId: string | null
      ) =>
        Effect.suspend(() => {
          const key = keyOf(candidate)
          const before = troubled.failures(key)
          const hasKeys = candidate.key !== undefined
          const classified = classifying(key, hasKeys, opensStream, keyId)
          return Effect.matchEffect(breaker.execute(call, { key, classify: classified }), {
            onSuccess: (answer) =>
              breaking.has(key) ? Effect.succeed(answer) : Effect.as(troubled.succeeded(key, before), answer),
            onFailure: (error): Effect.Effect<never, ProviderError | CircuitOpenError> => {
              if (error instanceof ProviderError) {
                const noted = isIgnored(candidate, error) ? Effect.void : troubled.failed(key)
                return Effect.andThen(Effect.andThen(noted, onRefusal(candidate, error, keyId)), Effect.fail(error))
              }
              const retryAfterMs =
                error.reason._tag === "CircuitOpen" ? Duration.toMillis(error.reason.retryAfter) : null
              const because = log.wasLimited(key) ? "rate_limited" : "circuit_open"
              return Effect.andThen(troubled.failed(key), Effect.fail(new CircuitOpenError(retryAfterMs, because)))
            }
          })
        })

      /**
       * Reports the outcome of an unguarded call, unless the circuit has opened in the meantime.
       */
      const late = (
        candidate: Candidate,
        outcome: Effect.Effect<void, ProviderError>,
        opensStream: boolean,
        keyId: string | null
      ) =>
        Effect.ignore(
          Effect.flatMap(breaker.state(keyOf(candidate)), ({ _tag }) =>
            _tag === "Closed"
              ? guarded(candidate, outcome, opensStream, keyId)
              : Effect.catch(outcome, (error) => onRefusal(candidate, error, keyId))
          )
        )

      // The circuit breaker costs as much as the rest of a request.
      const isUntroubled = (candidate: Candidate): boolean => !troubled.has(keyOf(candidate))

      const ended: Circuits["Service"]["ended"] = (candidate, exit, opensStream, keyId) => {
        if (exit._tag === "Success") {
          return troubled.has(keyOf(candidate)) ? late(candidate, Effect.void, opensStream, keyId) : undefined
        }
        const error = failureOf(exit)
        if (error === undefined) return undefined
        return isIgnored(candidate, error)
          ? onRefusal(candidate, error, keyId)
          : late(candidate, Effect.fail(error), opensStream, keyId)
      }

      const state = Effect.fnUntraced(function* (candidate: Candidate) {
        const ms = lockouts.remainingMs(candidate)
        if (ms > 0) return { state: "open", openForMs: ms, sinceMs: lockouts.sinceMs(candidate) } satisfies CircuitState
        const sinceMs = log.sinceMs(candidate)
        return yield* breaker.state(keyOf(candidate)).pipe(
          Effect.map((state): CircuitState => {
            const openForMs = state._tag === "Open" ? Duration.toMillis(state.retryAfter) : 0
            if (openForMs > 0) return { state: "open", openForMs, sinceMs }
            return state._tag === "Closed" ? closed : { state: "half_open", openForMs: null, sinceMs }
          }),
          Effect.orElseSucceed(() => closed)
        )
      })

      /** The provider answered, so it accepts the credentials. */
      const lift = (candidate: Candidate) =>
        Effect.flatMap(lockouts.lift(candidate), (wasRefused) => (wasRefused ? log.accepted(candidate) : Effect.void))

      return Circuits.of({
        changes: log.changes,
        refusals: Stream.fromPubSub(refusals),
        guard:
          (candidate, opensStream = false, keyId = null) =>
          (call) =>
            Effect.suspend(() => {
              users.uses(keyOf(candidate), keyId)
              const called = isUntroubled(candidate)
                ? Effect.onExitPrimitive(call, (exit) => ended(candidate, exit, opensStream, keyId))
                : guarded(candidate, call, opensStream, keyId)
              if (lockouts.isEmpty()) return called
              return Effect.flatMap(lockouts.enter(candidate, keyId), (ms) =>
                ms > 0
                  ? Effect.fail(new CircuitOpenError(ms, lockouts.because(candidate, keyId)))
                  : called.pipe(
                      Effect.tap(() => lift(candidate)),
                      // A provider that rejects the request has accepted the credentials.
                      Effect.tapError((error) =>
                        error instanceof ProviderError && error.reason._tag === "Rejected"
                          ? lift(candidate)
                          : Effect.void
                      )
                    )
              )
            }),
        beginQuiet: (candidate, keyId) => {
          if (!isUntroubled(candidate) || !lockouts.isEmpty()) return false
          users.uses(keyOf(candidate), keyId)
          return true
        },
        ended,
        recordBreak: (candidate, error, keyId = null) =>
          Effect.suspend(() => {
            if (isIgnored(candidate, error)) return onRefusal(candidate, error, keyId)
            breaking.add(keyOf(candidate))
            return Effect.ignore(guarded(candidate, Effect.fail(error), true, keyId))
          }),
        recordEnd: (candidate) =>
          breaking.has(keyOf(candidate)) ? Effect.ignore(guarded(candidate, Effect.void, false, null)) : Effect.void,
        state,
        lockedMs: lockouts.remainingMs,
        refusedSinceMs: lockouts.sinceMs,
        stateHere: (candidate) =>
          Effect.suspend(() =>
            lockouts.remainingMs(candidate) > 0 || troubled.has(keyOf(candidate))
              ? state(candidate)
              : Effect.succeed(closed)
          )
      })
    })

  static readonly layerMemory = Layer.effect(Circuits, Circuits.#make(null)).pipe(
    Layer.provide(CircuitBreaker.layerStoreMemory())
  )

  /** Circuits that all processes on one Redis share. While it is away, calls pass unrecorded. */
  static readonly layerRedis = Layer.effect(Circuits, Effect.flatMap(LockoutStore, Circuits.#make)).pipe(
    Layer.provide(CircuitBreaker.layerStoreRedis({ prefix: "tollgate:circuit:" }))
  )
}

/** Whether the circuit does not count the error. */
const isIgnored = (candidate: Candidate, error: ProviderError): boolean =>
  classify(Exit.fail(error), candidate.key !== undefined)._tag === "Ignored"

const withoutKey = ({ offer, provider }: Candidate): Candidate => ({ offer, provider })
