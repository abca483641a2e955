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
import { showsItsOutput } from "../billing/Estimate.ts"
import { collectReply } from "../reply/CollectReply.ts"
import { type Meter } from "../billing/Meter.ts"
import { ended, eventsOf, openStream, within } from "./OpenedStream.ts"
import { type Order } from "../request/Order.ts"
import { boundedTo, maxOutputTokens } from "./MaxTokens.ts"

/** The slowest pace at which a whole reply is still worth waiting for. */
const SLOWEST_MS_PER_TOKEN = 20
/** How much longer than for its first token a silent reply is waited for at most, as a part of that time. */
const TOLERATED_PART = 0.25

export interface WholeCall {
  readonly order: Order<ChatRequest>
  readonly provider: Provider
  readonly candidate: Candidate
  /** Nobody is asked after this one. */
  readonly isLast: boolean
}

export const makeWholeReply = (watch: Meter["Service"]["watch"]) => {
  /** What providers have refused to stream, and gave whole. */
  const unstreamed = new Set<string>()

  const atOnce = ({ candidate, order, provider }: WholeCall): Effect.Effect<ChatReply, ProviderError> => {
    const { totalMs } = candidate.provider.timeouts
    const longestMs = longestOf(order, candidate)
    const limitMs = Math.min(longestMs, totalMs)
    const request = boundedTo(order.request, candidate, order.affordableTokens)
    const phase = longestMs < totalMs ? "first_token" : "total"
    return within(provider.chat({ request, offer: candidate.offer, limitMs }), limitMs, provider, phase)
  }

  /** `refused`: what follows where the provider does not open the stream. */
  const asItComes = (call: WholeCall, refused: (error: ProviderError) => Effect.Effect<ChatReply, ProviderError>) => {
    const { candidate, order, provider } = call
    const request = boundedTo(order.request, candidate, order.affordableTokens)
    const reply = openStream(provider, candidate, request).pipe(
      Effect.matchEffect({
        onFailure: refused,
        onSuccess: ({ head, pull }) =>
          collectReply(watch(order)(eventsOf(head, pull)), provider.config.slug, (produced) =>
            order.log.watch(produced)
          )
      }),
      Effect.scoped
    )
    return ended(reply, candidate.provider.timeouts.totalMs, provider, "total")
  }

  return (call: WholeCall): Effect.Effect<ChatReply, ProviderError> => {
    call.order.log.watch(null)
    if (call.order.account.sliced) return asItComes(call, Effect.fail)
    const shape = shapeOf(call)
    if (!wantsWatching(call) || unstreamed.has(shape)) return atOnce(call)
    return asItComes(call, (error) =>
      refusesStreams(error, call.order)
        ? Effect.tap(atOnce(call), () => Effect.sync(() => unstreamed.add(shape)))
        : Effect.fail(error)
    )
  }
}

/** How long a whole reply may take, in milliseconds. */
const longestOf = (order: Order<ChatRequest>, candidate: Candidate): number =>
  candidate.provider.timeouts.firstTokenMs + SLOWEST_MS_PER_TOKEN * maxOutputTokens(order, candidate)

/** Whether silence would be waited for much longer than it has to, and tells something. */
const wantsWatching = ({ candidate, isLast, order }: WholeCall): boolean => {
  if (isLast) return false
  const { firstTokenMs, totalMs } = candidate.provider.timeouts
  const limitMs = Math.min(longestOf(order, candidate), totalMs)
  return limitMs > firstTokenMs * (1 + TOLERATED_PART) && showsItsOutput(order) && isText(order.request)
}

/** What is said in sound comes in another form when it is streamed. */
const isText = ({ modalities }: ChatRequest): boolean => (modalities ?? []).every((modality) => modality === "text")

/** What providers make streaming depend on. */
const shapeOf = ({ candidate: { offer, provider }, order: { choices, request } }: WholeCall): string =>
  `${provider.slug}|${offer.id}|${choices > 1}|${(request.tools?.length ?? 0) > 0}`

const NO_SUCH_CALL = new Set([403, 404, 405, 501])

/**
 * Whether the same request may well be answered whole: at some providers streams need another right, another endpoint, or do without
 * some parameters. Where the words are not about streaming the request itself is at fault, and would be refused again.
 */
const refusesStreams = ({ reason }: ProviderError, { choices }: Order<ChatRequest>): boolean => {
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
