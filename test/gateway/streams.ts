/**
 * The gateway with three scripted providers of different prices, and streams that are read to their
 * end.
 */
import * as CacheMemory from "../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../src/store/keys/KeyRepoMemory.ts"
import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Stream } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../src/domain/Catalog.ts"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { Ids } from "../../src/domain/Ids.ts"
import { type KeyRecord } from "../../src/domain/Key.ts"
import { type CompletionEvent } from "../../src/gateway/request/Answer.ts"
import { Completion } from "../../src/gateway/chat/Completion.ts"
import { type ClientDeadline } from "../../src/gateway/request/ClientDeadline.ts"
import { MetadataRecorder } from "../../src/gateway/request/ResponseMetadata.ts"
import { layerScripted, type Script, scriptedOffer, type ScriptedProvider } from "../../src/testing/ScriptedProvider.ts"
import { gateway, memory } from "../../src/Server.ts"
import { type SettingsShape } from "../../src/Settings.ts"
import { GenerationStore } from "../../src/store/ledger/GenerationStore.ts"
import * as LedgerMemory from "../../src/store/ledger/Memory.ts"
import { testSettings } from "../support/testSettings.ts"
import { keyWith, requestWith } from "./plans.ts"
import { type Heard } from "./scripts.ts"

/** Dollars a million tokens: alpha 1 and 2, beta 2 and 4, gamma 3 and 6. */
const slugs = ["alpha", "beta", "gamma"]
const offerAt = (at: number, prefill: boolean) => ({
  ...scriptedOffer("test/small"),
  pricing: { prompt: (at + 1) * 1_000_000, completion: (at + 1) * 2_000_000, cachedPrompt: null },
  prefill
})

export const gatewayOn = (
  scripts: Readonly<Record<string, Script | ReadonlyArray<Script>>>,
  {
    config,
    offer,
    prefill = true,
    settings
  }: {
    readonly config?: Partial<ProviderConfig>
    readonly offer?: Partial<ModelOffer>
    readonly prefill?: boolean
    readonly settings?: Partial<SettingsShape>
  } = {}
) => {
  const heard: Heard = { calls: [], requests: [], aborted: [] }
  const providers = slugs.flatMap((slug, at): ReadonlyArray<ScriptedProvider> => {
    const script = scripts[slug]
    if (script === undefined) return []
    return [
      {
        slug,
        config: { models: [{ ...offerAt(at, prefill), ...offer }], ...config },
        models: { "test/small": script },
        onCall: (call) => {
          heard.calls.push(slug)
          heard.requests.push(call.request)
        },
        onAbort: () => void heard.aborted.push(slug)
      }
    ]
  })
  const whole = { ...testSettings, routing: { ...testSettings.routing, retries: 0 }, ...settings }
  const layer = gateway(whole).pipe(
    Layer.provideMerge(Layer.mergeAll(layerScripted(providers), memory)),
    Layer.provideMerge(
      Layer.mergeAll(
        KeyRepoMemory.layer,
        LedgerMemory.layer,
        LimitsMemory.layer,
        CacheMemory.layer(whole.cache),
        Ids.layerSequence
      )
    )
  )
  return { heard, layer }
}

export interface Asked {
  readonly request?: Partial<ChatRequest>
  readonly key?: Partial<KeyRecord>
  readonly deadline?: ClientDeadline
}

const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 1_000 }

export const ran = ({ key, deadline, request }: Asked) =>
  Effect.gen(function* () {
    const { metadata, note } = new MetadataRecorder()
    const completed = yield* (yield* Completion).run({
      request: requestWith({ stream: true, ...request }),
      caller: { key: keyWith(key), limits },
      cacheControl: "use",
      note,
      deadline: deadline ?? null
    })
    return { metadata, completed }
  })

export const begun = (given: Asked) =>
  Effect.map(ran(given), ({ completed, metadata }) => ({
    metadata,
    head: completed.head,
    events: completed._tag === "Stream" ? completed.events : assert.fail("no stream")
  }))

export const recordOf = (generationId: string | null) =>
  Effect.gen(function* () {
    const found = yield* (yield* GenerationStore).find(generationId ?? "", keyWith().id)
    return Option.isSome(found) && found.value._tag === "Settled" ? found.value.generation : assert.fail("not settled")
  })

const textOf = (events: ReadonlyArray<CompletionEvent>): string =>
  events
    .flatMap((event) => (event._tag === "Choices" ? event.choices : []))
    .map(({ delta }) => delta.content ?? "")
    .join("")

export const streamed = (given: Asked = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { events, metadata, head } = yield* begun(given)
      const read: ReadonlyArray<CompletionEvent> = Array.from(yield* Stream.runCollect(events.stream))
      const last = read.at(-1)
      return {
        head,
        events: read,
        text: textOf(read),
        tags: read.map(({ _tag }) => _tag),
        usage: last?._tag === "Usage" ? last.usage : undefined,
        record: yield* recordOf(metadata.generationId)
      }
    })
  )
