/**
 * The index of models and of the providers that offer each. Routing, pricing and the model list
 * read it. A bare slug (`gpt-4o-mini`) resolves if only one model has it.
 */
import { Context, Effect, Layer, Result } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { gatewayError, type GatewayError, ModelNotFound } from "../../domain/Errors.ts"
import { Providers } from "../../providers/Providers.ts"

export class Catalog extends Context.Service<
  Catalog,
  {
    /** The model's full id and its offers, in the order of the settings. */
    readonly resolve: (model: string) => Result.Result<Model, GatewayError>
    /** Every model, by id. */
    readonly models: ReadonlyArray<Model>
  }
>()("tollgate/gateway/routing/Catalog") {
  static readonly layer = Layer.effect(
    Catalog,
    Effect.map(Providers, (providers) => {
      const byId = new Map<string, Array<Candidate>>()
      for (const { config } of providers.all) {
        for (const offer of config.models) {
          const candidates = byId.get(offer.id)
          if (candidates === undefined) byId.set(offer.id, [{ provider: config, offer }])
          else candidates.push({ provider: config, offer })
        }
      }
      const bySlug = new Map<string, Array<string>>()
      for (const id of byId.keys()) {
        const slug = id.slice(id.indexOf("/") + 1)
        bySlug.set(slug, [...(bySlug.get(slug) ?? []), id])
      }
      const models = Array.from(byId, ([id, candidates]): Model => ({ id, candidates })).sort((a, b) =>
        a.id < b.id ? -1 : 1
      )
      return Catalog.of({
        models,
        resolve: (model) => {
          const exact = byId.get(model)
          if (exact !== undefined) return Result.succeed({ id: model, candidates: exact })
          const ids = bySlug.get(model) ?? []
          const only = ids.length === 1 ? ids[0] : undefined
          const candidates = only === undefined ? undefined : byId.get(only)
          return only === undefined || candidates === undefined
            ? Result.fail(gatewayError(new ModelNotFound({ model, ambiguous: ids })))
            : Result.succeed({ id: only, candidates })
        }
      })
    })
  )
}

export interface Model {
  readonly id: string
  readonly candidates: ReadonlyArray<Candidate>
}
