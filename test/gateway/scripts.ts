/**
 * Scripted providers for tests below the edge, a record of their calls, and plans over their
 * models.
 */
import { Effect } from "effect"
import { type ModelOffer, type ProviderConfig } from "../../src/domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../../src/domain/Chat.ts"
import { type OutputBudget } from "../../src/gateway/request/OutputBudget.ts"
import { AttemptLog } from "../../src/gateway/routing/AttemptLog.ts"
import { type RoutedRequest } from "../../src/gateway/routing/RoutedRequest.ts"
import { type ChatCall, type EmbedCall, type ProviderReason, ServerFault } from "../../src/providers/Provider.ts"
import { Providers } from "../../src/providers/Providers.ts"
import { layerScripted, type Script, scriptedOffer, type ScriptedProvider } from "../../src/testing/ScriptedProvider.ts"
import { type PlanOptions, planWith } from "./plans.ts"

export const saying = (
  content: string,
  usage: ChatReply["usage"] = { promptTokens: 10, completionTokens: 5, cachedTokens: 0 }
): ChatReply => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage,
  systemFingerprint: null
})

export const piece = (content: string): ChatEvent => ({
  _tag: "Choices",
  choices: [{ index: 0, delta: { content }, finish_reason: null }]
})

export const stop: ChatEvent = { _tag: "Choices", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }

export const ending = (
  usage: ChatReply["usage"] = { promptTokens: 10, completionTokens: 5, cachedTokens: 0 }
): ChatEvent => ({ _tag: "End", usage, systemFingerprint: null })

export const fails = (reason: ProviderReason): Script => ({ failure: reason })

/** A provider whose every answer is an error 500. */
export const broken: Script = fails(new ServerFault({ status: 500, retryAfterMs: null }))

export interface Heard {
  /** Slugs, call by call. */
  readonly calls: Array<string>
  readonly requests: Array<ChatCall["request"] | EmbedCall["request"]>
  readonly aborted: Array<string>
}

/** Providers of `test/small` by slug, and their calls. */
export const scripted = (
  scripts: Readonly<Record<string, Script | ReadonlyArray<Script>>>,
  { config, offer }: { readonly config?: Partial<ProviderConfig>; readonly offer?: Partial<ModelOffer> } = {}
) => {
  const heard: Heard = { calls: [], requests: [], aborted: [] }
  const providers = Object.entries(scripts).map(([slug, script]): ScriptedProvider => ({
    slug,
    config: { models: [{ ...scriptedOffer("test/small"), ...offer }], ...config },
    models: { "test/small": script },
    onCall: (call) => {
      heard.calls.push(slug)
      heard.requests.push(call.request)
    },
    onAbort: () => void heard.aborted.push(slug)
  }))
  return { heard, providers, layer: layerScripted(providers) }
}

/** A budget without a limit, which bounds the output to `affordableTokens` a choice. */
export const budgetOf = (affordableTokens: number | null = null): OutputBudget => ({
  affordableTokens,
  isSliced: false,
  hold: () => Effect.succeed(true),
  watch: (events) => events
})

/** A plan with every provider, in the order of their listing, with its budget and its log. */
export const routedFor = (
  options: PlanOptions = {},
  affordableTokens: number | null = null
): Effect.Effect<RoutedRequest<ChatRequest>, never, Providers> =>
  Effect.map(Providers, ({ all }) => ({
    plan: planWith({
      ranked: all.flatMap(({ config }) => config.models.map((offer) => ({ provider: config, offer }))),
      ...options
    }),
    budget: budgetOf(affordableTokens),
    log: new AttemptLog()
  }))
