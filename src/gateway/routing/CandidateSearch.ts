/**
 * Calls the candidates of a request, best first, until one answers. Among equal ones the least busy
 * comes first, and a conversation goes where it was answered last. A provider with several keys is
 * called with the next one when a key is refused or at its rate limit. The last candidate is
 * retried where that may help. A client's error ends the search, because every other provider would
 * refuse the request too.
 */
import { Clock, Duration, Effect, Result } from "effect"
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

/** The state of one search. */
interface Search {
  readonly request: AnyRequest
  readonly candidates: ReadonlyArray<Candidate>
  /** The client allows no fallback. */
  readonly isSole: boolean
  /** Where the conversation was answered last; null: it does not matter. */
  readonly warm: Warm | null
  readonly tried: Set<Candidate>
}

/** How a candidate is called. `isLast`: no further candidate follows. */
export interface Call<A, R> {
  readonly make: (provider: Provider, candidate: Candidate, isLast: boolean) => Effect.Effect<A, ProviderError, R>
  /** When a hedged call starts; undefined: never. */
  readonly hedge?: { readonly afterMs: number; readonly discard: (answer: A) => Effect.Effect<void> } | undefined
}

/** A candidate, with its key if its provider has several, and the provider that serves it. */
interface Callee {
  readonly candidate: Candidate
  readonly provider: Provider
}

/** One call of one candidate. */
interface Turn extends Callee {
  readonly isLast: boolean
  readonly tries: number
}

/** The calls of one candidate with one key. */
interface Turns extends Callee {
  /** The candidate's place in the search. */
  readonly at: number
  /** Another key of the provider follows. */
  readonly hasMoreKeys: boolean
  /** The last failure before. */
  readonly before: Failure | null
}

const noneLeft = ({ isSole, request: { log, plan } }: Search, last: Failure | null): GatewayError =>
  exhaustedError(plan.model, log.record.attempts, isSole, last)

interface SearchOptions {
  readonly attempt: Attempt
  readonly circuits: Circuits["Service"]
  readonly inFlight: InFlight
  readonly keysOf: KeysOf
  readonly providers: Providers["Service"]
  readonly stats: ProviderStats["Service"]
  /** How often the last candidate is retried. */
  readonly retries: number
  readonly warmCaches: WarmCaches
}

/**
 * Returns the answer of the first candidate that answers, and the candidates that were not called.
 */
export const makeCandidateSearch = (options: SearchOptions) => {
  const { attempt, circuits, inFlight, keysOf, providers, retries, stats, warmCaches } = options
  /** The candidate for a hedged call: the next best of another provider with the same model. */
  const rivalOf = (slow: Candidate, { candidates, request, tried }: Search) => {
    const ranked = candidates.find(
      (other) => !tried.has(other) && other.provider.slug !== slow.provider.slug && other.offer.id === slow.offer.id
    )
    const [candidate] = ranked === undefined ? [] : keysOf(ranked, request.plan.caller.key.id)
    const provider = candidate === undefined ? undefined : providers.get(candidate)
    return ranked === undefined || candidate === undefined || provider === undefined
      ? undefined
      : { ranked, candidate, provider }
  }

  /** Whether another key of the provider may do better. */
  const isKeysFault = (failure: Failure, candidate: Candidate, plan: RequestPlan<unknown>): boolean =>
    failure instanceof CircuitOpenError ? circuits.lockedMs(candidate, plan.caller.key.id) > 0 : failure.isKeysFault

  /** The call that lost took at least as long as it was waited for. */
  const recordLost = ({ offer, provider }: Candidate, latencyMs: number) =>
    stats.record(provider.slug, offer.id, { ok: true, latencyMs, streamed: true })

  /** One call of a candidate. The first call may be hedged with another provider. */
  const callOnce = <A, R>(search: Search, call: Call<A, R>, { candidate, isLast, provider, tries }: Turn) => {
    const { budget, log, plan } = search.request
    const own = attempt(search.request, candidate, call.make(provider, candidate, isLast))
    const rival = call.hedge === undefined || tries > 0 ? undefined : rivalOf(candidate, search)
    if (call.hedge === undefined || rival === undefined) return own
    return hedged({
      ...call.hedge,
      log,
      prompt: plan.prompt,
      first: { candidate, run: own },
      second: {
        candidate: rival.candidate,
        run: attempt(search.request, rival.candidate, call.make(rival.provider, rival.candidate, false))
      },
      hold: budget.hold(rival.candidate, plan.prompt),
      onSecond: () => void search.tried.add(rival.ranked),
      onLost: recordLost
    })
  }

  /**
   * Calls a candidate and retries it as long as that may help. Returns its last failure if the next
   * key or candidate may do better, and fails if the search must end.
   */
  const callWithKey = Effect.fnUntraced(function* <A, R>(
    search: Search,
    call: Call<A, R>,
    { at, before, candidate, hasMoreKeys, provider }: Turns
  ) {
    const { log, plan } = search.request
    const { totalMs } = limitsOf(candidate)
    const isLast = () => search.candidates.slice(at + 1).every((other) => search.tried.has(other))
    let last = before
    for (let tries = 0; ; tries++) {
      if (log.hasLeft) return yield* noneLeft(search, last)
      const once = callOnce(search, call, { candidate, provider, isLast: isLast(), tries })
      const result = yield* Effect.result(withinDeadline(plan, log, totalMs, once))
      if (result._tag === "Success") return Result.succeed(result.success)
      if (result.failure._tag === "GatewayError") return yield* result.failure
      last = result.failure
      const fault = requestFault(last, plan)
      if (fault !== null) return yield* fault
      const longestMs = longestPause(plan, yield* Clock.currentTimeMillis)
      // Another key or provider answers sooner than a retry.
      const hasNext = !isLast() || (hasMoreKeys && isKeysFault(last, candidate, plan))
      const mayRetry = tries < retries && !search.isSole && !hasNext
      const pauseMs = mayRetry ? retryPause(last, tries, longestMs) : null
      if (pauseMs !== null) yield* Effect.sleep(Duration.millis(pauseMs))
      // The client's deadline leaves no time for the next provider.
      else if (longestMs <= 0) return yield* noneLeft(search, last)
      else return Result.fail(last)
    }
  })

  /**
   * Calls a candidate with one key of its provider after the other, as long as another key may do
   * better. Returns the last failure if the next candidate may do better.
   */
  const callCandidate = Effect.fnUntraced(function* <A, R>(
    search: Search,
    call: Call<A, R>,
    at: number,
    before: Failure | null
  ) {
    const { candidates, request, warm } = search
    const ranked = candidates[at]
    const keyed = ranked === undefined ? [] : keysOf(ranked, request.plan.caller.key.id, warm?.place)
    let last: Result.Result<Attempted<A>, Failure | null> = Result.fail(before)
    for (const [index, candidate] of keyed.entries()) {
      const provider = providers.get(candidate)
      if (provider === undefined) continue
      const hasMoreKeys = index + 1 < keyed.length
      const turns = { at, before: Result.isFailure(last) ? last.failure : null, candidate, hasMoreKeys, provider }
      const result: Result.Result<Attempted<A>, Failure> = yield* callWithKey(search, call, turns)
      if (Result.isSuccess(result) || !isKeysFault(result.failure, candidate, request.plan)) return result
      last = result
    }
    return last
  })

  return Effect.fnUntraced(function* <A, R>(request: AnyRequest, call: Call<A, R>) {
    const { plan } = request
    if (plan.unroutable !== null) return yield* plan.unroutable
    const isSole = noFallbacks(plan.request)
    const warm = plan.conversation === null ? null : yield* warmCaches.find(plan)
    const spread = inFlight.shared(plan.ranked, plan.groupSizes)
    const ordered = warm === null ? spread : yield* warmCaches.ordered(plan, warm, spread)
    const candidates = isSole ? ordered.slice(0, 1) : ordered
    const search: Search = { request, candidates, isSole, warm, tried: new Set() }
    let last: Failure | null = null
    for (const [at, candidate] of candidates.entries()) {
      if (search.tried.has(candidate)) continue
      search.tried.add(candidate)
      const result: Result.Result<Attempted<A>, Failure | null> = yield* callCandidate(search, call, at, last)
      if (result._tag === "Success") {
        const { answer, candidate: who, latencyMs } = result.success
        if (warm !== null) request.log.stuck(warmCaches.answered(plan, warm, who))
        const others = candidates.slice(at + 1).filter((other) => !search.tried.has(other))
        const isFallback = at > 0 || who.provider !== candidate.provider || who.offer !== candidate.offer
        return { candidate: who, fallbackUsed: isFallback, latencyMs, answer, others }
      }
      last = result.failure
    }
    return yield* noneLeft(search, last)
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
