/**
 * Gets a whole reply from one provider. While a provider works on a long reply, it cannot be told
 * from a silent one. So if another candidate could answer, the provider is asked for a stream,
 * which is collected here: it must begin in time, and the client gets the same reply. A reply whose
 * output is reserved in slices is streamed too. Short replies, and replies of the last candidate,
 * are requested whole.
 */
import { Effect } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type Provider, type ProviderError } from "../../providers/Provider.ts"
import { collectReply } from "../reply/CollectReply.ts"
import { withTimeout, eventsOf, openStream, withCallLimit } from "./OpenedStream.ts"
import { hasVisibleOutput } from "../request/Reasoning.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { limitOutput, maxOutputTokens } from "./MaxTokens.ts"

/** The slowest speed at which a whole reply is worth waiting for. */
const SLOWEST_MS_PER_TOKEN = 20
/**
 * How much longer than its first-token limit a silent reply is waited for, as a part of that limit.
 */
const TOLERATED_PART = 0.25

export interface WholeCall {
  readonly request: RoutedRequest<ChatRequest>
  readonly provider: Provider
  readonly candidate: Candidate
  /** No further candidate follows. */
  readonly isLast: boolean
}

export const makeWholeReply = () => {
  /** Shapes of requests that a provider refused to stream and answered whole. */
  const unstreamed = new Set<string>()

  const askWhole = ({ candidate, provider, request: routed }: WholeCall): Effect.Effect<ChatReply, ProviderError> => {
    const { totalMs } = candidate.provider.timeouts
    const longestMs = longestOf(routed, candidate)
    const limitMs = Math.min(longestMs, totalMs)
    const request = limitOutput(routed.plan.request, candidate, routed.budget.affordableTokens)
    const phase = longestMs < totalMs ? "first_token" : "total"
    return withCallLimit(provider.chat({ request, offer: candidate.offer, limitMs }), limitMs, provider, phase)
  }

  /** `refused`: the fallback if the provider does not open the stream. */
  const askStreamed = (call: WholeCall, refused: (error: ProviderError) => Effect.Effect<ChatReply, ProviderError>) => {
    const { candidate, provider } = call
    const { budget, log, plan } = call.request
    const request = limitOutput(plan.request, candidate, budget.affordableTokens)
    const reply = openStream(provider, candidate, request).pipe(
      Effect.matchEffect({
        onFailure: refused,
        onSuccess: ({ head, pull }) =>
          collectReply(budget.watch(eventsOf(head, pull)), provider.config.slug, (produced) => log.watch(produced))
      }),
      Effect.scoped
    )
    return withTimeout(reply, candidate.provider.timeouts.totalMs, provider, "total")
  }

  return (call: WholeCall): Effect.Effect<ChatReply, ProviderError> => {
    call.request.log.watch(null)
    if (call.request.budget.isSliced) return askStreamed(call, Effect.fail)
    const shape = shapeOf(call)
    if (!wantsWatching(call) || unstreamed.has(shape)) return askWhole(call)
    return askStreamed(call, (error) =>
      refusesStreams(error, call.request.plan)
        ? Effect.tap(askWhole(call), () => Effect.sync(() => unstreamed.add(shape)))
        : Effect.fail(error)
    )
  }
}

/** The longest time of a whole reply, in milliseconds. */
const longestOf = (request: RoutedRequest<ChatRequest>, candidate: Candidate): number =>
  candidate.provider.timeouts.firstTokenMs + SLOWEST_MS_PER_TOKEN * maxOutputTokens(request, candidate)

/**
 * Whether the wait for a silent reply would be much longer than for its first token, and a stream
 * would show progress.
 */
const wantsWatching = ({ candidate, isLast, request }: WholeCall): boolean => {
  if (isLast) return false
  const { firstTokenMs, totalMs } = candidate.provider.timeouts
  const limitMs = Math.min(longestOf(request, candidate), totalMs)
  return limitMs > firstTokenMs * (1 + TOLERATED_PART) && hasVisibleOutput(request.plan) && isText(request.plan.request)
}

/** Audio has another form in streams than in whole replies. */
const isText = ({ modalities }: ChatRequest): boolean => (modalities ?? []).every((modality) => modality === "text")

/** The features that providers make streaming depend on. */
const shapeOf = ({ candidate: { offer, provider }, request: { plan } }: WholeCall): string =>
  `${provider.slug}|${offer.id}|${plan.choices > 1}|${(plan.request.tools?.length ?? 0) > 0}`

const NO_SUCH_CALL = new Set([403, 404, 405, 501])

/**
 * Whether the provider may answer the same request whole: some need another permission or endpoint
 * for streams, or refuse some parameters there. A refusal that does not mention streaming is about
 * the request, and a whole call would be refused too.
 */
const refusesStreams = ({ reason }: ProviderError, { choices }: RequestPlan<ChatRequest>): boolean => {
  switch (reason._tag) {
    case "Rejected":
      return choices > 1 ? !reason.contextLength : /stream/i.test(`${reason.message} ${reason.param} ${reason.code}`)
    case "CredentialsRefused":
    case "ServerFault":
      return NO_SUCH_CALL.has(reason.status)
    default:
      return false
  }
}
