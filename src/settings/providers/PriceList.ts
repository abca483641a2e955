/**
 * A signed list of prices, which replaces those of presets' models. Its file is one JSON object:
 * the list, and an Ed25519 signature over the list as `JSON.stringify` writes it. A list is only
 * ever read together with the public key that it must be signed with.
 */
import { Predicate, Result, Schema } from "effect"
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { type ModelOffer, type ProviderConfig } from "../../domain/Catalog.ts"
import { type Pricing } from "../../domain/pricing/Money.ts"
import { publishedPrices } from "../../providers/presets/PublishedPrices.ts"
import { presets } from "../../providers/presets/Vendors.ts"
import { type Place } from "../Faults.ts"
import { decodeModel } from "./ModelEntry.ts"

/** Slug of a preset to model id to `pricing`, as models of the settings file have it. */
const List = Schema.Struct({
  object: Schema.Literal("tollgate.prices"),
  issued_at: Schema.String,
  prices: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))
})
const Signed = Schema.Struct({ list: List, signature: Schema.String })

/** Far above every vendor's models together. */
const MOST_MODELS = 10_000

export interface PriceList {
  readonly issuedAtMs: number
  readonly prices: (typeof List.Type)["prices"]
}

/** The bytes that the signature is over. */
export const signedBytes = (list: unknown): Buffer => Buffer.from(JSON.stringify(list), "utf8")

/**
 * The public key in base64 of its DER form (SPKI), as `openssl pkey -pubout -outform DER` writes
 * it.
 */
export const publicKeyOf = (base64: string): KeyObject | null =>
  Result.getOrNull(
    Result.try(() => createPublicKey({ key: Buffer.from(base64, "base64"), format: "der", type: "spki" })).pipe(
      Result.filterOrFail(
        (key) => key.asymmetricKeyType === "ed25519",
        () => null
      )
    )
  )

const isSignedBy = (key: KeyObject, list: unknown, signature: string): boolean =>
  Result.getOrElse(
    Result.try(() => verify(null, signedBytes(list), key, Buffer.from(signature, "base64"))),
    () => false
  )

/** The pricing of an entry, for a model of a preset. Null: it is not a pricing. */
const pricingFor = (offer: ModelOffer, slug: string, pricing: unknown): Pricing | null => {
  const place: Place = {
    value: { id: offer.id, upstream: offer.upstream, embeddings: offer.embeddings, pricing },
    path: [],
    hidden: new Set()
  }
  const preset = presets.find((one) => one.slug === slug)
  const decoded = Result.getOrNull(decodeModel(place))?.pricing
  if (decoded === undefined || preset === undefined) return null
  const withPublished = <P extends Pricing>(prices: P): P => {
    const rare = { ...publishedPrices(preset, offer.upstream, prices), ...prices.rare }
    return Object.keys(rare).length === 0 ? prices : { ...prices, rare }
  }
  return {
    ...withPublished(decoded),
    ...(decoded.tiers === undefined ? {} : { tiers: decoded.tiers.map(withPublished) }),
    ...(decoded.serviceTiers === undefined && offer.pricing.serviceTiers !== undefined
      ? { serviceTiers: offer.pricing.serviceTiers }
      : {})
  }
}

/** What an entry of a list is checked against where no preset here has the model. */
const anyOffer = (id: string): Pick<ModelOffer, "id" | "upstream" | "embeddings"> => ({
  id,
  upstream: id,
  embeddings: true
})

/** The list of a file, or why it is refused, as the end of a sentence that begins with its name. */
export const readPriceList = (text: string, key: KeyObject): Result.Result<PriceList, string> => {
  const parsed = Result.getOrNull(Result.try((): unknown => JSON.parse(text)))
  const decoded = Schema.decodeUnknownResult(Signed, { onExcessProperty: "error" })(parsed)
  if (Result.isFailure(decoded)) return Result.fail("is not a signed list of prices")
  const { list, signature } = decoded.success
  // As it was written: decoding may order members otherwise.
  const written = Predicate.hasProperty(parsed, "list") ? parsed.list : null
  if (!isSignedBy(key, written, signature)) return Result.fail("is not signed with the key of prices.public_key")
  const issuedAtMs = Date.parse(list.issued_at)
  if (Number.isNaN(issuedAtMs)) return Result.fail("has no moment in issued_at")
  const entries = Object.values(list.prices).flatMap((models) => Object.entries(models))
  if (entries.length === 0 || entries.length > MOST_MODELS) {
    return Result.fail(`has ${entries.length} models; a list has 1 to ${MOST_MODELS}`)
  }
  const wrong = entries.find(([id, pricing]) =>
    Result.isFailure(decodeModel({ value: { ...anyOffer(id), pricing }, path: [], hidden: new Set() }))
  )
  return wrong === undefined
    ? Result.succeed({ issuedAtMs, prices: list.prices })
    : Result.fail(`has a price of ${wrong[0]} that is not a price`)
}

/** The provider of a preset with the prices of the list, where it has some. */
export const repriced = (provider: ProviderConfig, { prices }: Pick<PriceList, "prices">): ProviderConfig => {
  const listed = Object.hasOwn(prices, provider.slug) ? (prices[provider.slug] ?? {}) : {}
  return {
    ...provider,
    models: provider.models.map((offer) => {
      if (!Object.hasOwn(listed, offer.id)) return offer
      const pricing = pricingFor(offer, provider.slug, listed[offer.id])
      return pricing === null ? offer : { ...offer, pricing }
    })
  }
}
