/** The endpoint of the route preview. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { type RoutePreview as Wire } from "../../api/Route.ts"
import { ChatRequest } from "../../domain/Chat.ts"
import { usdFromNano, usdPerMillionFromPico } from "../../domain/pricing/Money.ts"
import { type Preview, RoutePreview } from "../../gateway/chat/RoutePreview.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { errorBody, guard } from "../errors/ErrorResponse.ts"
import { decoded, makeDecode } from "../body/Payload.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "route",
  Effect.fnUntraced(function* (handlers) {
    const previews = yield* RoutePreview
    const decode = yield* makeDecode(ChatRequest)

    const preview = Effect.fnUntraced(function* (request: ChatRequest) {
      const caller = yield* CurrentKey
      const { recorder, requestId } = yield* CurrentRequest
      return wireOf(yield* previews.of({ request, caller, note: recorder.note }), requestId)
    })

    return handlers.handleRaw("preview", ({ request }) =>
      decoded(request, decode, (payload) => guard(preview(payload)))
    )
  })
)

const wireOf = (preview: Preview, requestId: string): Wire => ({
  object: "route.preview",
  model: preview.model,
  sort: preview.sort,
  prompt_tokens: preview.promptTokens,
  likely_completion_tokens: preview.likelyOutputTokens,
  candidates: preview.candidates.map(({ candidate, circuit, expectedNano, price, stats }) => ({
    provider: candidate.provider.slug,
    model: candidate.offer.id,
    fallback_model: candidate.offer.id !== preview.model,
    expected_cost_usd: usdFromNano(expectedNano),
    price: {
      prompt: usdPerMillionFromPico(price.prompt),
      completion: usdPerMillionFromPico(price.completion),
      cached_prompt: price.cachedPrompt === null ? null : usdPerMillionFromPico(price.cachedPrompt)
    },
    circuit: circuit.state,
    success_rate: stats.calls === 0 ? null : stats.successRate,
    latency_ms: stats.firstTokenMs ?? stats.wholeMs,
    throughput_tps: stats.throughputTps
  })),
  excluded: preview.excluded.map(({ expectedNano, ...exclusion }) => ({
    ...exclusion,
    expected_cost_usd: expectedNano === null ? null : usdFromNano(expectedNano)
  })),
  error: preview.error === null ? null : errorBody(preview.error, requestId)
})
