/**
 * Embeddings on Bedrock, through InvokeModel. Amazon's Titan takes one text per call, Cohere's
 * models up to 96, so one request may become several calls, at most four at a time. If one call
 * fails, the request fails. Other families, and dimensions for a model with a fixed size, are
 * `Unsupported`.
 */
import { Effect, Result } from "effect"
import { type ModelOffer } from "../../domain/Catalog.ts"
import { type EmbeddingReply, type EmbeddingRequest, textsOf } from "../../domain/Embedding.ts"
import { decodeReply } from "../wire/Decode.ts"
import { headerOf } from "../transport/Headers.ts"
import { Malformed, type ProviderReason, Unsupported } from "../Provider.ts"
import { type Endpoint, type WholeReply } from "../transport/Transport.ts"
import { promptUsage } from "../wire/Usage.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"

const CALLS_AT_ONCE = 4
const COHERE_TEXTS = 96
const cohereTypes = new Set(["search_document", "search_query", "classification", "clustering"])

type Vector = ReadonlyArray<number>

/** The request and reply format of a model family. */
interface Family {
  readonly textsPerCall: number
  readonly body: (texts: ReadonlyArray<string>, request: EmbeddingRequest) => JsonRecord
  readonly vectors: (body: JsonRecord) => ReadonlyArray<unknown>
}

const titan: Family = {
  textsPerCall: 1,
  body: ([inputText], { dimensions }) => ({ inputText, ...(dimensions ? { dimensions } : {}) }),
  vectors: (body) => [body["embedding"]]
}

const cohere: Family = {
  textsPerCall: COHERE_TEXTS,
  body: (texts, { dimensions, ...rest }) => {
    const asked = stringOf(rest["input_type"])
    return {
      texts,
      input_type: asked !== null && cohereTypes.has(asked) ? asked : "search_document",
      embedding_types: ["float"],
      ...(dimensions ? { output_dimension: dimensions } : {})
    }
  },
  // Grouped by type; a plain list from models without `embedding_types`.
  vectors: ({ embeddings }) => {
    const list = isJsonRecord(embeddings) ? embeddings["float"] : embeddings
    return Array.isArray(list) ? list : []
  }
}

const familyOf = (upstream: string, request: EmbeddingRequest): Result.Result<Family, Unsupported> => {
  const family = upstream.includes("cohere.embed") ? cohere : upstream.includes("titan-embed-text") ? titan : null
  if (family === null)
    return Result.fail(new Unsupported({ param: "model", message: "only Titan and Cohere models embed text here" }))
  const fixed = /titan-embed-text-v1|titan-embed-g1|cohere\.embed-(english|multilingual)/.test(upstream)
  return fixed && request.dimensions
    ? Result.fail(new Unsupported({ param: "dimensions", message: "this model has a fixed vector size" }))
    : Result.succeed(family)
}

/** `limitMs`: time limit of each call. */
export const embed = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  request: EmbeddingRequest,
  offer: ModelOffer,
  limitMs: number
): Effect.fn.Return<EmbeddingReply, ProviderReason> {
  const family = yield* Effect.fromResult(familyOf(offer.upstream, request))
  const texts = textsOf(request.input)
  const calls = Array.from({ length: Math.ceil(texts.length / family.textsPerCall) }, (_, at) =>
    texts.slice(at * family.textsPerCall, (at + 1) * family.textsPerCall)
  )
  const replies = yield* Effect.forEach(
    calls,
    (some) =>
      Effect.flatMap(endpoint.post(JSON.stringify(family.body(some, request)), limitMs), (reply) =>
        decodeReply(reply, (body) => readVectors(family, body, reply, some.length))
      ),
    { concurrency: CALLS_AT_ONCE }
  )
  const counts = replies.map(({ tokens }) => tokens).filter((tokens) => tokens !== null)
  const promptTokens = counts.reduce((sum, tokens) => sum + tokens, 0)
  return {
    vectors: replies.flatMap(({ vectors }) => vectors),
    usage: promptUsage(counts.length < replies.length ? null : promptTokens)
  }
})

/** The token count is in the body (Titan) or in a header (all). */
const readVectors = (
  family: Family,
  body: JsonRecord,
  { headers }: WholeReply,
  expected: number
): { readonly vectors: ReadonlyArray<Vector>; readonly tokens: number | null } | Malformed => {
  const vectors = family.vectors(body).filter(isVector)
  if (vectors.length !== expected) return new Malformed({ detail: "bad embedding" })
  const header = headerOf(headers, "x-amzn-bedrock-input-token-count")
  const tokens = countOf(body["inputTextTokenCount"]) ?? (header === null ? null : countOf(Number(header)))
  return { vectors, tokens }
}

const isVector = (value: unknown): value is Vector =>
  Array.isArray(value) && value.length > 0 && value.every((number) => typeof number === "number")
