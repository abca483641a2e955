/**
 * Gets a whole reply from one provider. While a provider works on a whole reply, it cannot be told
 * from a silent one. So if another candidate could answer, the provider is asked for a stream,
 * which is collected here: the time limits of streams apply, and the client gets the same reply. A
 * reply whose output is reserved in slices is streamed too. Short replies, and replies of the last
 * candidate, are requested whole and have `total_ms`.
 */
import { Effect } from "effect"
import { type Candidate, limitsOf } from "../../domain/Catalog.ts"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { nativeFor } from "../../domain/Native.ts"
import { type Provider, type ProviderError } from "../../providers/Provider.ts"
import { collectReply } from "../reply/CollectReply.ts"
import { withTimeout, leftOutInto, openStream, withCallLimit } from "./OpenedStream.ts"
import { hasVisibleOutput } from "../request/Reasoning.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { contentOf, maxOutputTokens } from "./MaxTokens.ts"

/** A reply of so few tokens is not worth a stream. */
const SHORT_REPLY_TOKENS = 187

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
    const { totalMs } = limitsOf(candidate)
    const content = contentOf(routed, candidate)
    return withCallLimit(
      provider.chat({
        ...content,
        offer: candidate.offer,
        limitMs: totalMs,
        leftOut: leftOutInto(routed.log, candidate)
      }),
      totalMs,
      provider,
      "total"
    )
  }

  /** `refused`: the fallback if the provider does not open the stream. */
  const askStreamed = (call: WholeCall, refused: (error: ProviderError) => Effect.Effect<ChatReply, ProviderError>) => {
    const { candidate, isLast, provider } = call
    const { budget, log } = call.request
    const content = contentOf(call.request, candidate)
    const reply = openStream(provider, candidate, content, call.request, isLast).pipe(
      Effect.matchEffect({
        onFailure: refused,
        onSuccess: ({ head, rest }) =>
          collectReply(budget.watch(rest.after(head)), provider.config.slug, (produced) => log.watch(produced))
      }),
      Effect.scoped
    )
    return withTimeout(reply, limitsOf(candidate).totalMs, provider, "total")
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

/** Whether a stream would show progress, and another provider could answer after a silence. */
const wantsWatching = ({ candidate, isLast, request }: WholeCall): boolean =>
  !isLast &&
  // A stream's events in their own form cannot be put together without loss.
  nativeFor(request.plan, candidate) === undefined &&
  maxOutputTokens(request, candidate) > SHORT_REPLY_TOKENS &&
  hasVisibleOutput(request.plan) &&
  isText(request.plan.request)

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
