/**
 * A whole reply of one provider. One that works on a long reply says as little before the end as one that is silent, so where somebody
 * else could answer, it is asked for a stream, which is gathered here: it has to begin in time, and the client gets the reply that it
 * would have got otherwise. So is a reply whose output is paid for while it arrives. Short replies, and those of the last provider
 * left, are asked for as what they are.
 */
import { Effect } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type Provider, type ProviderError } from "../../providers/Provider.ts"
import { collectReply } from "../reply/CollectReply.ts"
import { ended, eventsOf, openStream, within } from "./OpenedStream.ts"
import { showsItsOutput } from "../request/Reasoning.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { boundedTo, maxOutputTokens } from "./MaxTokens.ts"

/** The slowest pace at which a whole reply is still worth waiting for. */
const SLOWEST_MS_PER_TOKEN = 20
/** How much longer than for its first token a silent reply is waited for at most, as a part of that time. */
const TOLERATED_PART = 0.25

export interface WholeCall {
  readonly request: RoutedRequest<ChatRequest>
  readonly provider: Provider
  readonly candidate: Candidate
  /** Nobody is asked after this one. */
  readonly isLast: boolean
}

export const makeWholeReply = () => {
  /** What providers have refused to stream, and gave whole. */
  const unstreamed = new Set<string>()

  const atOnce = ({ candidate, provider, request: routed }: WholeCall): Effect.Effect<ChatReply, ProviderError> => {
    const { totalMs } = candidate.provider.timeouts
    const longestMs = longestOf(routed, candidate)
    const limitMs = Math.min(longestMs, totalMs)
    const request = boundedTo(routed.plan.request, candidate, routed.budget.affordableTokens)
    const phase = longestMs < totalMs ? "first_token" : "total"
    return within(provider.chat({ request, offer: candidate.offer, limitMs }), limitMs, provider, phase)
  }

  /** `refused`: what follows where the provider does not open the stream. */
  const asItComes = (call: WholeCall, refused: (error: ProviderError) => Effect.Effect<ChatReply, ProviderError>) => {
    const { candidate, provider } = call
    const { budget, log, plan } = call.request
    const request = boundedTo(plan.request, candidate, budget.affordableTokens)
    const reply = openStream(provider, candidate, request).pipe(
      Effect.matchEffect({
        onFailure: refused,
        onSuccess: ({ head, pull }) =>
          collectReply(budget.watch(eventsOf(head, pull)), provider.config.slug, (produced) => log.watch(produced))
      }),
      Effect.scoped
    )
    return ended(reply, candidate.provider.timeouts.totalMs, provider, "total")
  }

  return (call: WholeCall): Effect.Effect<ChatReply, ProviderError> => {
    call.request.log.watch(null)
    if (call.request.budget.isSliced) return asItComes(call, Effect.fail)
    const shape = shapeOf(call)
    if (!wantsWatching(call) || unstreamed.has(shape)) return atOnce(call)
    return asItComes(call, (error) =>
      refusesStreams(error, call.request.plan)
        ? Effect.tap(atOnce(call), () => Effect.sync(() => unstreamed.add(shape)))
        : Effect.fail(error)
    )
  }
}

/** How long a whole reply may take, in milliseconds. */
const longestOf = (request: RoutedRequest<ChatRequest>, candidate: Candidate): number =>
  candidate.provider.timeouts.firstTokenMs + SLOWEST_MS_PER_TOKEN * maxOutputTokens(request, candidate)

/** Whether silence would be waited for much longer than it has to, and tells something. */
const wantsWatching = ({ candidate, isLast, request }: WholeCall): boolean => {
  if (isLast) return false
  const { firstTokenMs, totalMs } = candidate.provider.timeouts
  const limitMs = Math.min(longestOf(request, candidate), totalMs)
  return limitMs > firstTokenMs * (1 + TOLERATED_PART) && showsItsOutput(request.plan) && isText(request.plan.request)
}

/** What is said in sound comes in another form when it is streamed. */
const isText = ({ modalities }: ChatRequest): boolean => (modalities ?? []).every((modality) => modality === "text")

/** What providers make streaming depend on. */
const shapeOf = ({ candidate: { offer, provider }, request: { plan } }: WholeCall): string =>
  `${provider.slug}|${offer.id}|${plan.choices > 1}|${(plan.request.tools?.length ?? 0) > 0}`

const NO_SUCH_CALL = new Set([403, 404, 405, 501])

/**
 * Whether the same request may well be answered whole: at some providers streams need another right, another endpoint, or do without
 * some parameters. Where the words are not about streaming the request itself is at fault, and would be refused again.
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
