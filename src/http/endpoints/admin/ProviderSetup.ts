/** The admin's endpoints that add, test and remove providers. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import {
  type AddProviderRequest,
  type ProviderChangeReport,
  type ProviderTestReport,
  type TestProviderRequest
} from "../../../api/ProviderSetup.ts"
import {
  type FoundModel,
  type ProviderChange,
  type ProviderChoice,
  ProviderSetup,
  type ProviderTest
} from "../../../gateway/admin/ProviderSetup.ts"
import { guard } from "../../errors/ErrorResponse.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "adminProviderSetup",
  Effect.fnUntraced(function* (handlers) {
    const setup = yield* ProviderSetup
    return handlers.handleAll({
      presets: () =>
        Effect.map(setup.presets, (presets) => ({
          object: "list" as const,
          data: presets.map(({ baseUrl, isInUse, takesKey, ...preset }) => ({
            ...preset,
            base_url: baseUrl,
            takes_key: takesKey,
            in_use: isInUse
          }))
        })),
      test: ({ payload }) => guard(Effect.map(setup.test(choiceOf(payload)), testOf)),
      add: ({ payload }) =>
        guard(
          Effect.map(
            setup.add({
              ...choiceOf(payload),
              models: payload.models?.map(modelOf) ?? null,
              isTested: payload.test,
              isWritten: payload.write
            }),
            changeOf
          )
        ),
      replaceKey: ({ params, payload }) =>
        guard(Effect.map(setup.replaceKey(params.slug, keyOf(payload), payload.test), changeOf)),
      remove: ({ params }) => guard(Effect.map(setup.remove(params.slug), changeOf))
    })
  })
)

const keyOf = (payload: { readonly api_key?: string; readonly key_env?: string }) => ({
  apiKey: payload.api_key === undefined ? null : Redacted.make(payload.api_key),
  keyEnv: payload.key_env ?? null
})

const choiceOf = (payload: typeof TestProviderRequest.Type): ProviderChoice => ({
  preset: payload.preset ?? null,
  slug: payload.slug ?? null,
  name: payload.name ?? null,
  dialect: payload.dialect ?? null,
  baseUrl: payload.base_url ?? null,
  ...keyOf(payload)
})

type Model = NonNullable<(typeof AddProviderRequest.Type)["models"]>[number]

const modelOf = ({ id, pricing, upstream }: Model) => ({
  upstream,
  id: id ?? null,
  pricing:
    pricing === undefined
      ? null
      : { prompt: pricing.prompt, completion: pricing.completion, cachedPrompt: pricing.cached_prompt ?? null }
})

const foundOf = ({ contextLength, embeddings, id, isListed, pricing, upstream }: FoundModel) => ({
  id,
  upstream,
  context_length: contextLength,
  embeddings,
  pricing:
    pricing === null
      ? null
      : { prompt: pricing.prompt, completion: pricing.completion, cached_prompt: pricing.cachedPrompt },
  listed: isListed
})

const testOf = ({ fault, host, isKeyChecked, latencyMs, models, slug }: ProviderTest): ProviderTestReport => ({
  object: "provider_test",
  slug,
  host,
  ok: fault === null,
  fault,
  key_checked: isKeyChecked,
  latency_ms: latencyMs,
  models: models.map(foundOf)
})

const changeOf = ({ isWritten, ...change }: ProviderChange): ProviderChangeReport => ({
  object: "provider_change",
  written: isWritten,
  ...change
})
