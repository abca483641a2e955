/**
 * A provider for tests. Its answers are data: one script per call, and the last script for all
 * later calls. A model without a script dies, because the test is wrong. Time is taken from
 * `Clock`.
 */
import { Duration, Effect, Layer, Stream } from "effect"
import { defaultTimeouts, type ModelOffer, type ProviderConfig, unknownPolicy } from "../domain/Catalog.ts"
import { Batches } from "../domain/runtime/Batches.ts"
import { type ChatEvent, type ChatReply } from "../domain/Chat.ts"
import { type EmbeddingReply } from "../domain/Embedding.ts"
import { type TokenUsage } from "../domain/pricing/Money.ts"
import { replayEvents } from "../domain/Replay.ts"
import {
  type ChatCall,
  type EmbedCall,
  type Provider,
  ProviderError,
  type ProviderReason
} from "../providers/Provider.ts"
import { bySlug, Providers } from "../providers/Providers.ts"

/** The answer to one call. The call dies if the script lacks the member that it needs. */
export interface Script {
  /** Initial delay, in milliseconds. */
  readonly delayMs?: number
  /** Fails the call: a whole reply, an embedding, or opening a stream. */
  readonly failure?: ProviderReason
  /** Also replayed as a stream if there are no `events`. */
  readonly reply?: ChatReply
  /** The events of a stream. A number waits that many milliseconds; a reason breaks the stream. */
  readonly events?: ReadonlyArray<ChatEvent | ProviderReason | number>
  readonly vectors?: EmbeddingReply
  /** The members of the request that the provider says it leaves out. */
  readonly leftOut?: ReadonlyArray<string>
  /** The usage of the prompt that the provider reports at the start of a stream. */
  readonly promptUsage?: TokenUsage
  /** Never answers: waits until interrupted. */
  readonly hangs?: boolean
}

export interface ScriptedProvider {
  readonly slug: string
  /**
   * The scripts are those of this key of the provider, which another entry with `apiKeys` lists.
   */
  readonly key?: number
  readonly config?: Partial<ProviderConfig>
  /** By model id. A list answers successive calls; its last script answers all later ones. */
  readonly models: Readonly<Record<string, Script | ReadonlyArray<Script>>>
  /** Called for every call, when it starts. */
  readonly onCall?: (call: ChatCall | EmbedCall, kind: "chat" | "chatStream" | "embed") => void
  /** Called for every call that ends early: interrupted, or its scope closed. */
  readonly onAbort?: (call: ChatCall | EmbedCall) => void
}

/** The offer for `id`, unless `config` lists models. */
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

/** `Providers` that answer according to `scripts`. */
export const layerScripted = (scripts: ReadonlyArray<ScriptedProvider>): Layer.Layer<Providers> =>
  Layer.sync(Providers, () => {
    const keyed = new Map(scripts.map((script) => [`${script.slug}#${script.key ?? 1}`, makeScripted(script)]))
    return bySlug(
      scripts.flatMap(({ key, slug }) => (key === undefined ? (keyed.get(`${slug}#1`) ?? []) : [])),
      keyed
    )
  })

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
    if (script.promptUsage !== undefined && kind === "chatStream" && "promptUsage" in call) {
      call.promptUsage?.(script.promptUsage)
    }
    if (script.hangs === true) return yield* Effect.never
    if (script.leftOut !== undefined && "leftOut" in call) call.leftOut?.(script.leftOut)
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
      const stream = Stream.fromIterable(events).pipe(
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
      return yield* Batches.fromStream(stream)
    }),
    embed: (call) => answer(call, "embed", (script) => script.vectors)
  }
}
