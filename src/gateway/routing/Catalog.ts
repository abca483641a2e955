/**
 * The index of models and of the providers that offer each. Routing, pricing and the model list
 * read it. A model has an id, a bare slug (`gpt-4o-mini`) if it is the only one with it, and its
 * vendors' own names. A dated name (`gpt-4o-2024-08-06`) goes to the vendors that have this
 * snapshot, under this name.
 */
import { Context, Effect, Layer, Result } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { gatewayError, type GatewayError, ModelNotFound } from "../../domain/Errors.ts"
import { Providers } from "../../providers/Providers.ts"

export class Catalog extends Context.Service<
  Catalog,
  {
    /** The model of a name, and its offers in the order of the settings. */
    readonly resolve: (model: string) => Result.Result<Model, GatewayError>
    /** Every model, by id. */
    readonly models: ReadonlyArray<Model>
  }
>()("tollgate/gateway/routing/Catalog") {
  static readonly layer = Layer.effect(
    Catalog,
    Effect.map(Providers, (providers) => {
      const byId = new Map<string, Array<Candidate>>()
      /** The offers that know a vendor's name, by that name and by id. They are called by it. */
      const byAlias = new Map<string, Map<string, Array<Candidate>>>()
      for (const { config } of providers.all) {
        for (const offer of config.models) {
          push(byId, offer.id, { provider: config, offer })
          for (const [alias, upstream] of Object.entries(offer.aliases ?? {})) {
            const candidate = { provider: config, offer: { ...offer, upstream } }
            for (const name of alias.includes("/") ? [alias] : [alias, `${authorOf(offer.id)}/${alias}`]) {
              const ids = byAlias.get(name) ?? new Map<string, Array<Candidate>>()
              byAlias.set(name, ids)
              push(ids, offer.id, candidate)
            }
          }
        }
      }
      const bySlug = new Map<string, Array<string>>()
      for (const id of byId.keys()) push(bySlug, id.slice(id.indexOf("/") + 1), id)
      const models = Array.from(byId, ([id, candidates]): Model => ({ id, candidates, snapshot: null })).sort((a, b) =>
        a.id < b.id ? -1 : 1
      )

      /** By its id, or by the name that only one model has; else the ids that have it. */
      const find = (name: string): Model | ReadonlyArray<string> => {
        const exact = byId.get(name)
        if (exact !== undefined) return { id: name, candidates: exact, snapshot: null }
        const named = byAlias.get(name)
        const ids = bySlug.get(name) ?? [...(named?.keys() ?? [])]
        const [id, ...others] = ids
        const all = id === undefined ? undefined : byId.get(id)
        if (id === undefined || all === undefined || others.length > 0) return ids
        const own = bySlug.has(name) ? undefined : named?.get(id)
        // Only another spelling of what the vendor is called with anyway.
        const isSpelling = own?.some(({ offer, provider }) =>
          all.some((other) => other.provider === provider && other.offer.upstream === offer.upstream)
        )
        return own === undefined || isSpelling === true
          ? { id, candidates: all, snapshot: null }
          : { id, candidates: own, snapshot: name }
      }

      /** A snapshot of a model whose vendors' names are known. */
      const findDated = (name: string): Model | null => {
        const date = snapshotDate.exec(name)?.[0]
        const model = date === undefined ? null : find(name.slice(0, -date.length))
        if (date === undefined || model === null || !("id" in model)) return null
        const candidates = model.candidates
          .filter(({ offer, provider }) => offer.aliases !== undefined && namesInBody.has(provider.dialect))
          .map(({ offer, provider }) => ({ provider, offer: { ...offer, upstream: `${offer.upstream}${date}` } }))
        return candidates.length === 0 ? null : { id: model.id, candidates, snapshot: name }
      }

      return Catalog.of({
        models,
        resolve: (name) => {
          const found = find(name)
          if ("id" in found) return Result.succeed(found)
          const dated = found.length === 0 ? findDated(name) : null
          return dated === null
            ? Result.fail(gatewayError(new ModelNotFound({ model: name, ambiguous: found, nearest: null })))
            : Result.succeed(dated)
        }
      })
    })
  )
}

export interface Model {
  readonly id: string
  readonly candidates: ReadonlyArray<Candidate>
  /** The requested snapshot's name; null: the one that the vendor serves by default. */
  readonly snapshot: string | null
}

/** `-20250929` or `-2024-08-06`. */
const snapshotDate = /-20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/

/**
 * Dialects that send the model's name in the body. The others have an endpoint for each name, which
 * clients must not invent.
 */
const namesInBody: ReadonlySet<string> = new Set(["openai", "anthropic"])

const authorOf = (id: string): string => id.slice(0, id.indexOf("/"))

const push = <K, V>(map: Map<K, Array<V>>, key: K, value: V): void => {
  const values = map.get(key)
  if (values === undefined) map.set(key, [value])
  else values.push(value)
}
