/**
 * The OpenAI dialect, which most vendors speak: chat completions whole and streamed, and embeddings. The request goes
 * out as the client sent it, unknown members included, but for the model's name and what only the gateway understands.
 * It promises one `End` a complete stream, one finish reason and one role a choice, and indexes that tell parallel tool
 * calls apart; it refuses to pass a cut, empty or erroneous answer off as a good one. OpenAiStream and OpenAiReply read
 * what comes back.
 */
import { type NonEmptyReadonlyArray, isReadonlyArrayNonEmpty } from "effect/Array"
import { Cause, Clock, Effect, type Pull, Redacted, Stream } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { Events } from "../Events.ts"
import { Cut, Malformed, type Provider, ProviderError, type ProviderReason } from "../Provider.ts"
import { presentable, refusalInside, refusalOf } from "../Refusal.ts"
import { type OpenReply, type Transport, type WholeReply } from "../Transport.ts"
import { isWire, parseJson, type Wire } from "../Wire.ts"
import { readEmbeddings, readReply } from "./OpenAiReply.ts"
import { close, isComplete, makeState, type StreamState, step } from "./OpenAiStream.ts"

const ERROR_LIMIT_BYTES = 64 * 1024
/** A whole reply that came where a stream was asked for. */
const UNSTREAMED_LIMIT_BYTES = 4 * 1024 * 1024

// lowering

const chatBody = (request: ChatRequest, offer: ModelOffer, stream: boolean): string => {
  const { metadata, models: _models, provider: _provider, stream_options, ...rest } = request
  return JSON.stringify({
    ...rest,
    ...(metadata === undefined || (metadata !== null && "mock" in metadata) ? {} : { metadata }),
    ...(stream ? { stream_options: { ...stream_options, include_usage: true } } : {}),
    model: offer.upstream,
    stream
  })
}

/** Floats, because not every vendor knows base64; a base64 answer is understood all the same. */
const embeddingBody = (request: EmbeddingRequest, offer: ModelOffer): string =>
  JSON.stringify({ ...request, model: offer.upstream, encoding_format: "float" })

// step

/** Reads packets into events. What a packet said before the stream broke goes out before the failure does. */
const eventsOf = (
  reply: OpenReply,
  state: StreamState,
  slug: string
): Pull.Pull<NonEmptyReadonlyArray<ChatEvent>, ProviderReason> => {
  const events = new Events()
  let failure: ProviderReason | null = null
  let over = false

  const take = (data: ReadonlyArray<string> | Malformed, out: Array<ChatEvent>): void => {
    if (data instanceof Malformed) failure ??= data
    else for (const each of data) failure ??= step(state, each, out)
  }
  const finish = (out: Array<ChatEvent>): void => {
    const last = close(state)
    if (last instanceof Malformed) failure = last
    else out.push(...last)
    over = true
  }
  const answer = (out: Array<ChatEvent>) => (isReadonlyArrayNonEmpty(out) ? Effect.succeed(out) : pull)

  const read = Effect.matchEffect(reply.chunks, {
    onSuccess: (chunks) => {
      const out: Array<ChatEvent> = []
      const skipped = state.skipped
      if (chunks === null) take(events.end(), out)
      else for (const chunk of chunks) take(events.feed(chunk), out)
      if (failure === null) {
        if (state.done || (chunks === null && isComplete(state, false))) finish(out)
        else if (chunks === null) failure = new Cut({ detail: "ended before its terminator" })
      }
      const next = state.done ? Effect.andThen(reply.drain, answer(out)) : answer(out)
      return state.skipped === skipped
        ? next
        : Effect.andThen(Effect.logDebug("skipped a malformed stream event", { provider: slug }), next)
    },
    onFailure: (reason) => {
      const out: Array<ChatEvent> = []
      // Every choice asked for is whole; only usage or the terminator is missing.
      if (isComplete(state, true)) finish(out)
      else failure = reason
      return answer(out)
    }
  })
  const pull: Pull.Pull<NonEmptyReadonlyArray<ChatEvent>, ProviderReason> = Effect.suspend(() => {
    if (failure !== null) return Effect.fail(failure)
    return over ? Cause.done() : read
  })
  return pull
}

/** A whole reply as the stream that was asked for. */
const asStream = ({ choices, systemFingerprint, usage }: ChatReply): ReadonlyArray<ChatEvent> => [
  {
    _tag: "Choices",
    choices: choices.map(({ message: { tool_calls, ...message }, ...choice }) => ({
      ...choice,
      delta: {
        ...message,
        ...(tool_calls === undefined ? {} : { tool_calls: tool_calls.map((call, index) => ({ ...call, index })) })
      },
      finish_reason: choice.finish_reason ?? "stop"
    }))
  },
  { _tag: "End", usage, systemFingerprint }
]

// export

export const makeOpenAi = (config: ProviderConfig, transport: Transport["Service"]): Provider => {
  const chat = transport.endpoint(config, "/chat/completions")
  const embeddings = transport.endpoint(config, "/embeddings")
  const key = config.apiKey === null ? null : Redacted.value(config.apiKey)
  const fault = (reason: ProviderReason) =>
    new ProviderError({ provider: config.slug, reason: presentable(reason, key) })

  return {
    config,
    // The reply's first byte comes after its last token: the router, who knows the output's bound, sets the tighter
    // limit.
    chat: ({ offer, request }) =>
      chat.post(chatBody(request, offer, false), config.timeouts.totalMs).pipe(
        Effect.flatMap((reply) => decode(reply, readReply)),
        Effect.mapError(fault)
      ),
    chatStream: Effect.fnUntraced(function* ({ offer, request }) {
      const reply = yield* chat.open(chatBody(request, offer, true))
      const { headers, status } = reply
      const type = headers["content-type"] ?? ""
      if (status < 200 || status > 299) {
        return yield* refused({
          status,
          headers,
          text: yield* Effect.orElseSucceed(reply.text(ERROR_LIMIT_BYTES), () => "")
        })
      }
      if (type.includes("html")) return yield* Effect.fail(new Malformed({ detail: "HTML" }))
      if (type.includes("json")) {
        const whole = yield* decode({ status, headers, text: yield* reply.text(UNSTREAMED_LIMIT_BYTES) }, readReply)
        return Stream.fromArray(asStream(whole))
      }
      const pull = eventsOf(reply, makeState(request.n ?? 1), config.slug)
      return Stream.mapError(Stream.fromPull(Effect.succeed(pull)), fault)
    }, Effect.mapError(fault)),
    embed: ({ offer, request }) =>
      embeddings.post(embeddingBody(request, offer), config.timeouts.firstTokenMs).pipe(
        Effect.flatMap((reply) =>
          decode(reply, (body) => readEmbeddings(body, typeof request.input === "string" ? 1 : request.input.length))
        ),
        Effect.mapError(fault)
      )
  }
}

const refused = ({ headers, status, text }: WholeReply): Effect.Effect<never, ProviderReason> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => Effect.fail(refusalOf(status, headers, text, nowMs)))

/** The body of a good reply: a JSON object without an error inside, that `read` can make sense of. */
const decode = <A>(reply: WholeReply, read: (body: Wire) => A | Malformed): Effect.Effect<A, ProviderReason> => {
  if (reply.status < 200 || reply.status > 299) return refused(reply)
  const body = parseJson(reply.text)
  if (!isWire(body)) return Effect.fail(new Malformed({ detail: "not a JSON object" }))
  const refusal = refusalInside(body)
  if (refusal !== null) return Effect.fail(refusal)
  const answer = read(body)
  return answer instanceof Malformed ? Effect.fail(answer) : Effect.succeed(answer)
}
