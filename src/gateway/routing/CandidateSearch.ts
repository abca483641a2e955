/**
 * Calls the candidates of a request, best first, until one answers. Among equal ones the least busy
 * comes first, and a conversation goes where it was answered last. A provider with several keys is
 * called with the next one when a key is refused or at its rate limit. The last candidate is
 * retried where that may help. A client's error ends the search, because every other provider would
 * refuse the request too.
 */
import { type Clock, Duration, Effect } from "effect"
import { type Candidate, limitsOf } from "../../domain/Catalog.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Provider, type ProviderError } from "../../providers/Provider.ts"
import { type Providers } from "../../providers/Providers.ts"
import { CircuitOpenError } from "../health/CircuitOpenError.ts"
import { type Circuits } from "../health/Circuits.ts"
import { type ProviderStats } from "../health/ProviderStats.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Attempt, type Attempted } from "./Attempt.ts"
import { withinDeadline } from "./CallDeadline.ts"
import { exhaustedError, type Failure, longestPause, requestFault, retryPause } from "./FailurePolicy.ts"
import { hedged } from "./Hedging.ts"
import { type InFlight } from "./InFlight.ts"
import { type KeysOf } from "./ProviderKeys.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { type Warm, type WarmCaches } from "./WarmCaches.ts"

type AnyRequest = Omit<RoutedRequest, "plan"> & { readonly plan: RequestPlan<unknown> }

/** How a candidate is called. `isLast`: no further candidate follows. */
export interface Call<A, R> {
  readonly make: (provider: Provider, candidate: Candidate, isLast: boolean) => Effect.Effect<A, ProviderError, R>
  /** Called with the answer. */
  readonly answered?: (found: Found<A>) => void
  /** When a hedged call starts; undefined: never. */
  readonly hedge?: { readonly afterMs: number; readonly discard: (answer: A) => Effect.Effect<void> } | undefined
}

/** The answer of a search. */
export interface Found<A> extends Attempted<A> {
  readonly fallbackUsed: boolean
  /** The candidates that were not called. */
  readonly others: ReadonlyArray<Candidate>
}

interface SearchOptions {
  readonly attempt: Attempt
  readonly circuits: Circuits["Service"]
  readonly clock: Clock.Clock
  readonly inFlight: InFlight
  readonly keysOf: KeysOf
  readonly providers: Providers["Service"]
  readonly stats: ProviderStats["Service"]
  /** How often the last candidate is retried. */
  readonly retries: number
  readonly warmCaches: WarmCaches
}

/** The state of one search, and its steps. */
class Search<A, R> {
  readonly #options: SearchOptions
  readonly #request: AnyRequest
  readonly #call: Call<A, R>
  readonly #candidates: ReadonlyArray<Candidate>
  /** The client allows no fallback. */
  readonly #isSole: boolean
  /** Where the conversation was answered last; null: it does not matter. */
  readonly #warm: Warm | null
  readonly #tried: Array<Candidate> = []
  /** The current candidate, its provider's keys, and how often the current key was tried. */
  #at = -1
  #keyed: ReadonlyArray<Candidate> = []
  #keyAt = -1
  #tries = 0
  #last: Failure | null = null

  constructor(
    options: SearchOptions,
    request: AnyRequest,
    call: Call<A, R>,
    ordered: ReadonlyArray<Candidate>,
    warm: Warm | null
  ) {
    this.#options = options
    this.#request = request
    this.#call = call
    this.#isSole = noFallbacks(request.plan.request)
    this.#candidates = this.#isSole ? ordered.slice(0, 1) : ordered
    this.#warm = warm
  }

  /** Goes on with the next candidate, or fails if there is none. */
  nextCandidate(): Effect.Effect<Found<A>, GatewayError, R> {
    const candidate = this.#candidates[++this.#at]
    if (candidate === undefined) return this.#noneLeft()
    if (this.#isTried(candidate)) return this.nextCandidate()
    this.#tried.push(candidate)
    this.#keyed = this.#options.keysOf(candidate, this.#request.plan.caller.key.id, this.#warm?.place)
    this.#keyAt = -1
    return this.#nextKey()
  }

  /** Goes on with the next key of the candidate's provider, or else with the next candidate. */
  #nextKey(): Effect.Effect<Found<A>, GatewayError, R> {
    const candidate = this.#keyed[++this.#keyAt]
    if (candidate === undefined) return this.nextCandidate()
    const provider = this.#options.providers.get(candidate)
    if (provider === undefined) return this.#nextKey()
    this.#tries = 0
    return this.#callWith(candidate, provider)
  }

  /** One call of the candidate. */
  #callWith(candidate: Candidate, provider: Provider): Effect.Effect<Found<A>, GatewayError, R> {
    const { log, plan } = this.#request
    if (log.hasLeft) return this.#noneLeft()
    const { totalMs } = limitsOf(candidate)
    const nowMs = this.#options.clock.currentTimeMillisUnsafe()
    const called = withinDeadline(plan, log, { limitMs: totalMs, nowMs }, () => this.#callOnce(candidate, provider))
    return Effect.matchEffect(called, {
      onFailure: (failure) =>
        failure._tag === "GatewayError" ? Effect.fail(failure) : this.#failed(failure, candidate, provider),
      onSuccess: (attempted) => Effect.succeed(this.#found(attempted))
    })
  }

  /** The first call of a candidate may be hedged with another provider. */
  #callOnce(candidate: Candidate, provider: Provider): Effect.Effect<Attempted<A>, Failure, R> {
    const { attempt, stats } = this.#options
    const { budget, log, plan } = this.#request
    const { hedge, make } = this.#call
    const isLast = this.#isLast()
    const rival = hedge === undefined || this.#tries > 0 ? undefined : this.#rivalOf(candidate)
    if (hedge === undefined || rival === undefined)
      return attempt(this.#request, candidate, () => make(provider, candidate, isLast))
    return hedged({
      ...hedge,
      log,
      prompt: plan.prompt,
      first: {
        candidate,
        run: Effect.suspend(() => attempt(this.#request, candidate, () => make(provider, candidate, isLast)))
      },
      second: {
        candidate: rival.candidate,
        run: Effect.suspend(() =>
          attempt(this.#request, rival.candidate, () => make(rival.provider, rival.candidate, false))
        )
      },
      hold: budget.hold(rival.candidate, plan.prompt),
      onSecond: () => void this.#tried.push(rival.ranked),
      // The call that lost took at least as long as it was waited for.
      onLost: ({ offer, provider }, latencyMs) =>
        stats.record(provider.slug, offer.id, { ok: true, latencyMs, streamed: true })
    })
  }

  /** The candidate for a hedged call: the next best of another provider with the same model. */
  #rivalOf(slow: Candidate) {
    const ranked = this.#candidates.find(
      (other) => !this.#isTried(other) && other.provider.slug !== slow.provider.slug && other.offer.id === slow.offer.id
    )
    const [candidate] = ranked === undefined ? [] : this.#options.keysOf(ranked, this.#request.plan.caller.key.id)
    const provider = candidate === undefined ? undefined : this.#options.providers.get(candidate)
    return ranked === undefined || candidate === undefined || provider === undefined
      ? undefined
      : { ranked, candidate, provider }
  }

  /** Retries the call as long as that may help, or goes on with the next key or candidate. */
  #failed(failure: Failure, candidate: Candidate, provider: Provider): Effect.Effect<Found<A>, GatewayError, R> {
    const { clock, retries } = this.#options
    const { plan } = this.#request
    this.#last = failure
    const fault = requestFault(failure, plan)
    if (fault !== null) return Effect.fail(fault)
    const longestMs = longestPause(plan, clock.currentTimeMillisUnsafe())
    const isKeysFault = this.#isKeysFault(failure, candidate)
    // Another key or provider answers sooner than a retry.
    const hasNext = !this.#isLast() || (this.#keyAt + 1 < this.#keyed.length && isKeysFault)
    const mayRetry = this.#tries < retries && !this.#isSole && !hasNext
    const pauseMs = mayRetry ? retryPause(failure, this.#tries, longestMs) : null
    if (pauseMs !== null) {
      this.#tries++
      return Effect.flatMap(Effect.sleep(Duration.millis(pauseMs)), () => this.#callWith(candidate, provider))
    }
    // The client's deadline leaves no time for the next provider.
    if (longestMs <= 0) return this.#noneLeft()
    return isKeysFault ? this.#nextKey() : this.nextCandidate()
  }

  /** Whether another key of the provider may do better. */
  #isKeysFault(failure: Failure, candidate: Candidate): boolean {
    return failure instanceof CircuitOpenError
      ? this.#options.circuits.lockedMs(candidate, this.#request.plan.caller.key.id) > 0
      : failure.isKeysFault
  }

  #found({ answer, candidate, latencyMs }: Attempted<A>): Found<A> {
    const { log, plan } = this.#request
    const ranked = this.#candidates[this.#at]
    if (this.#warm !== null) log.stuck(this.#options.warmCaches.answered(plan, this.#warm, candidate))
    const isFallback = this.#at > 0 || candidate.provider !== ranked?.provider || candidate.offer !== ranked.offer
    const found = { candidate, fallbackUsed: isFallback, latencyMs, answer, others: this.#rest() }
    this.#call.answered?.(found)
    return found
  }

  /** The further candidates that were not tried. */
  #rest(): ReadonlyArray<Candidate> {
    return this.#at + 1 >= this.#candidates.length
      ? []
      : this.#candidates.slice(this.#at + 1).filter((other) => !this.#isTried(other))
  }

  #isLast(): boolean {
    return this.#rest().length === 0
  }

  #isTried(candidate: Candidate): boolean {
    return this.#tried.includes(candidate)
  }

  #noneLeft(): Effect.Effect<never, GatewayError> {
    const { log, plan } = this.#request
    return Effect.fail(exhaustedError(plan.model, log.record.attempts, this.#isSole, this.#last))
  }
}

/**
 * Finds the answer of the first candidate that answers. The search begins as this is called, so
 * call it where its request is.
 */
export const makeCandidateSearch =
  (options: SearchOptions) =>
  <A, R>(request: AnyRequest, call: Call<A, R>): Effect.Effect<Found<A>, GatewayError, R> => {
    const { inFlight, warmCaches } = options
    const { plan } = request
    if (plan.unroutable !== null) return Effect.fail(plan.unroutable)
    return Effect.flatMapEager(warmCaches.find(plan), (warm) => {
      const spread = inFlight.shared(plan.ranked, plan.groupSizes)
      const ordered = warm === null ? Effect.succeed(spread) : warmCaches.ordered(plan, warm, spread)
      return Effect.flatMapEager(ordered, (candidates) =>
        new Search(options, request, call, candidates, warm).nextCandidate()
      )
    })
  }

const noFallbacks = (request: unknown): boolean =>
  typeof request === "object" &&
  request !== null &&
  "provider" in request &&
  typeof request.provider === "object" &&
  request.provider !== null &&
  "allow_fallbacks" in request.provider &&
  request.provider.allow_fallbacks === false
