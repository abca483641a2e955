/**
 * Calls the candidates of a request, best first, until one answers. The last candidate is retried
 * where that may help. A client's error ends the search, because every other provider would refuse
 * the request too.
 */
import { Clock, Duration, Effect, Result } from "effect"
import { type Candidate, limitsOf } from "../../domain/Catalog.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Provider, type ProviderError } from "../../providers/Provider.ts"
import { type Providers } from "../../providers/Providers.ts"
import { type ProviderStats } from "../health/ProviderStats.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Attempt, type Attempted } from "./Attempt.ts"
import { withinDeadline } from "./CallDeadline.ts"
import { exhaustedError, type Failure, longestPause, requestFault, retryPause } from "./FailurePolicy.ts"
import { hedged } from "./Hedging.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"

type AnyRequest = Omit<RoutedRequest, "plan"> & { readonly plan: RequestPlan<unknown> }

/** The state of one search. */
interface Search {
  readonly request: AnyRequest
  readonly candidates: ReadonlyArray<Candidate>
  /** The client allows no fallback. */
  readonly isSole: boolean
  readonly tried: Set<Candidate>
}

/** How a candidate is called. `isLast`: no further candidate follows. */
export interface Call<A, R> {
  readonly make: (provider: Provider, candidate: Candidate, isLast: boolean) => Effect.Effect<A, ProviderError, R>
  /** When a hedged call starts; undefined: never. */
  readonly hedge?: { readonly afterMs: number; readonly discard: (answer: A) => Effect.Effect<void> } | undefined
}

/** One call of one candidate. */
interface Turn {
  readonly candidate: Candidate
  readonly provider: Provider
  readonly isLast: boolean
  readonly tries: number
}

const noneLeft = ({ isSole, request: { log, plan } }: Search, last: Failure | null): GatewayError =>
  exhaustedError(plan.model, log.record.attempts, isSole, last)

interface SearchOptions {
  readonly attempt: Attempt
  readonly providers: Providers["Service"]
  readonly stats: ProviderStats["Service"]
  /** How often the last candidate is retried. */
  readonly retries: number
}

/**
 * Returns the answer of the first candidate that answers, and the candidates that were not called.
 */
export const makeCandidateSearch = ({ attempt, providers, retries, stats }: SearchOptions) => {
  /** The candidate for a hedged call: the next best of another provider with the same model. */
  const rivalOf = (slow: Candidate, { candidates, tried }: Search) => {
    const candidate = candidates.find(
      (other) => !tried.has(other) && other.provider.slug !== slow.provider.slug && other.offer.id === slow.offer.id
    )
    const provider = candidate === undefined ? undefined : providers.get(candidate.provider.slug, candidate.offer)
    return candidate === undefined || provider === undefined ? undefined : { candidate, provider }
  }

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
      promptTokens: plan.promptTokens,
      first: { candidate, run: own },
      second: {
        candidate: rival.candidate,
        run: attempt(search.request, rival.candidate, call.make(rival.provider, rival.candidate, false))
      },
      hold: budget.hold(rival.candidate, plan.promptTokens),
      onSecond: () => void search.tried.add(rival.candidate),
      onLost: recordLost
    })
  }

  /**
   * Calls a candidate and retries it as long as that may help. Returns its last failure if the next
   * candidate may do better, and fails if the search must end. `before`: the failure of the
   * candidate before it.
   */
  const callCandidate = Effect.fnUntraced(function* <A, R>(
    search: Search,
    call: Call<A, R>,
    at: number,
    candidate: Candidate,
    provider: Provider,
    before: Failure | null
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
      // Another provider answers sooner than a retry.
      const mayRetry = tries < retries && !search.isSole && isLast()
      const pauseMs = mayRetry ? retryPause(last, tries, longestMs) : null
      if (pauseMs !== null) yield* Effect.sleep(Duration.millis(pauseMs))
      // The client's deadline leaves no time for the next provider.
      else if (longestMs <= 0) return yield* noneLeft(search, last)
      else return Result.fail(last)
    }
  })

  return Effect.fnUntraced(function* <A, R>(request: AnyRequest, call: Call<A, R>) {
    const { plan } = request
    if (plan.unroutable !== null) return yield* plan.unroutable
    const isSole = noFallbacks(plan.request)
    const candidates = isSole ? plan.ranked.slice(0, 1) : plan.ranked
    const search: Search = { request, candidates, isSole, tried: new Set() }
    let last: Failure | null = null
    for (const [at, candidate] of candidates.entries()) {
      const provider = providers.get(candidate.provider.slug, candidate.offer)
      if (provider === undefined || search.tried.has(candidate)) continue
      search.tried.add(candidate)
      const result: Result.Result<Attempted<A>, Failure> = yield* callCandidate(
        search,
        call,
        at,
        candidate,
        provider,
        last
      )
      if (result._tag === "Success") {
        const { answer, candidate: who, latencyMs } = result.success
        const others = candidates.slice(at + 1).filter((other) => !search.tried.has(other))
        return { candidate: who, fallbackUsed: at > 0 || who !== candidate, latencyMs, answer, others }
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
