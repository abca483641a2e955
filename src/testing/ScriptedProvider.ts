/**
 * A provider for tests: what it answers is data, one script a call, the last one for every call after. A model without
 * a script is a fault of the test and dies. Time passes on `Clock`.
 */
import { Duration, Effect, Layer, Stream } from "effect"
import { defaultTimeouts, type ModelOffer, type ProviderConfig, unknownPolicy } from "../domain/Catalog.ts"
import { type ChatEvent, type ChatReply } from "../domain/Chat.ts"
import { type EmbeddingReply } from "../domain/Embedding.ts"
import { replayEvents } from "../domain/Replay.ts"
import {
  type ChatCall,
  type EmbedCall,
  type Provider,
  ProviderError,
  type ProviderReason
} from "../providers/Provider.ts"
import { bySlug, Providers } from "../providers/Providers.ts"

/** What one call is answered with. A member that the call needs and the script lacks makes the call die. */
export interface Script {
  /** In milliseconds, before anything else. */
  readonly delayMs?: number
  /** Fails the call: a whole reply, an embedding, or the opening of a stream. */
  readonly failure?: ProviderReason
  /** Played back as a stream where one is asked for and there are no `events`. */
  readonly reply?: ChatReply
  /** The events of a stream; a number waits that many milliseconds, a reason breaks the stream there. */
  readonly events?: ReadonlyArray<ChatEvent | ProviderReason | number>
  readonly vectors?: EmbeddingReply
  /** Never answers: waits until it is interrupted. */
  readonly hangs?: boolean
}

export interface ScriptedProvider {
  readonly slug: string
  readonly config?: Partial<ProviderConfig>
  /** By model id. A list answers call after call; its last script answers all that follow. */
  readonly models: Readonly<Record<string, Script | ReadonlyArray<Script>>>
  /** Hears of every call, when it is made. */
  readonly onCall?: (call: ChatCall | EmbedCall, kind: "chat" | "chatStream" | "embed") => void
  /** Hears of every call that was given up before its end: interrupted, or its scope closed early. */
  readonly onAbort?: (call: ChatCall | EmbedCall) => void
}

/** The offer that a scripted provider makes of `id` unless its `config` lists its models. */
export const scriptedOffer = (id: string): ModelOffer => ({
  id,
  upstream: id.slice(id.indexOf("/") + 1),
  contextLength: 128_000,
  maxCompletionTokens: 16_384,
  pricing: { prompt: 1_000_000, completion: 2_000_000, cachedPrompt: null },
  embeddings: false,
  prefill: false,
  hidesReasoning: false
})

/** `Providers` that answer what `scripts` tell them to. */
export const layerScripted = (scripts: ReadonlyArray<ScriptedProvider>): Layer.Layer<Providers> =>
  Layer.sync(Providers, () => bySlug(scripts.map(makeScripted)))

const makeScripted = ({ config, models, onAbort, onCall, slug }: ScriptedProvider): Provider => {
  const calls = new Map<string, number>()
  const next = (id: string): Effect.Effect<Script> =>
    Effect.suspend(() => {
      const scripts = [models[id] ?? []].flat()
      const count = calls.get(id) ?? 0
      calls.set(id, count + 1)
      const script = scripts[Math.min(count, scripts.length - 1)]
      return script === undefined ? Effect.die(new Error(`${slug} has no script for ${id}`)) : Effect.succeed(script)
    })
  const fault = (reason: ProviderReason) => new ProviderError({ provider: slug, reason })
  const unanswerable = (kind: string) => Effect.die(new Error(`${slug}: the script has no answer to ${kind}`))

  const begin = Effect.fnUntraced(function* (call: ChatCall | EmbedCall, kind: "chat" | "chatStream" | "embed") {
    onCall?.(call, kind)
    const script = yield* next(call.offer.id)
    if (script.delayMs !== undefined) yield* Effect.sleep(Duration.millis(script.delayMs))
    if (script.hangs === true) return yield* Effect.never
    if (script.failure !== undefined) return yield* fault(script.failure)
    return script
  })
  const answer = <A>(call: ChatCall | EmbedCall, kind: "chat" | "embed", pick: (script: Script) => A | undefined) =>
    begin(call, kind).pipe(
      Effect.flatMap((script) => {
        const answered = pick(script)
        return answered === undefined ? unanswerable(kind) : Effect.succeed(answered)
      }),
      Effect.onInterrupt(() => Effect.sync(() => onAbort?.(call)))
    )

  return {
    config: {
      slug,
      name: slug,
      dialect: "mock",
      baseUrl: "",
      apiKey: null,
      auth: { type: "none" },
      headers: {},
      query: {},
      dataPolicy: unknownPolicy,
      timeouts: defaultTimeouts,
      models: Object.keys(models).map(scriptedOffer),
      ...config
    },
    chat: (call) => answer(call, "chat", (script) => script.reply),
    chatStream: Effect.fnUntraced(function* (call) {
      let over = false
      yield* Effect.addFinalizer(() => Effect.sync(() => void (over || onAbort?.(call))))
      const script = yield* Effect.onError(begin(call, "chatStream"), (cause) =>
        Effect.sync(() => void (over = cause.reasons.every((reason) => reason._tag === "Fail")))
      )
      const events = script.events ?? (script.reply === undefined ? undefined : replayEvents(script.reply))
      if (events === undefined) return yield* unanswerable("chatStream")
      return Stream.fromIterable(events).pipe(
        Stream.mapEffect((event) => {
          if (typeof event === "number") return Effect.as(Effect.sleep(Duration.millis(event)), null)
          if (event._tag === "Choices" || event._tag === "End") {
            over ||= event._tag === "End"
            return Effect.succeed(event)
          }
          over = true
          return Effect.fail(fault(event))
        }),
        Stream.filter((event) => event !== null)
      )
    }),
    embed: (call) => answer(call, "embed", (script) => script.vectors)
  }
}
