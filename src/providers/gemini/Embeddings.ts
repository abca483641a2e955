/**
 * Embeddings at Gemini, in sequential batches of at most a hundred texts. Vectors of a requested
 * dimension are scaled to unit length, as OpenAI's are, because Gemini does not normalise shortened
 * ones.
 */
import { type EmbeddingReply, type EmbeddingRequest, textsOf } from "../../domain/Embedding.ts"
import { Malformed } from "../Provider.ts"
import { promptUsage } from "../wire/Usage.ts"
import { countOf, isJsonRecord, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

const BATCH = 100

interface Batch {
  readonly body: string
  readonly size: number
}

/** `resource`: the model's resource name, such as `models/gemini-embedding-001`. */
export const batchesOf = ({ dimensions, input }: EmbeddingRequest, resource: string): ReadonlyArray<Batch> => {
  const texts = textsOf(input)
  return Array.from({ length: Math.ceil(texts.length / BATCH) }, (_, at) => {
    const requests = texts.slice(at * BATCH, (at + 1) * BATCH).map((text) => ({
      model: resource,
      content: { parts: [{ text }] },
      ...(dimensions === undefined || dimensions === null ? {} : { outputDimensionality: dimensions })
    }))
    return { body: JSON.stringify({ requests }), size: requests.length }
  })
}

/** `expected`: the number of texts in the batch. */
export const readEmbeddings = (body: JsonRecord, expected: number, normalize: boolean): EmbeddingReply | Malformed => {
  const vectors: Array<ReadonlyArray<number>> = []
  for (const { values } of jsonRecordsOf(body["embeddings"])) {
    if (!Array.isArray(values) || values.length === 0 || !values.every(isNumber))
      return new Malformed({ detail: "bad embedding" })
    vectors.push(normalize ? unit(values) : values)
  }
  if (vectors.length !== expected) return new Malformed({ detail: "embeddings missing" })
  const usage = body["usageMetadata"]
  return { vectors, usage: promptUsage(isJsonRecord(usage) ? countOf(usage["promptTokenCount"]) : null) }
}

/** Joins the replies of all batches. Usage is known only if every batch reported it. */
export const joinReplies = (replies: ReadonlyArray<EmbeddingReply>): EmbeddingReply => {
  const usages = replies.flatMap(({ usage }) => usage ?? [])
  const promptTokens = usages.reduce((sum, usage) => sum + usage.promptTokens, 0)
  return {
    vectors: replies.flatMap(({ vectors }) => vectors),
    usage: promptUsage(usages.length < replies.length ? null : promptTokens)
  }
}

const isNumber = (value: unknown): value is number => typeof value === "number"

const unit = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const length = Math.hypot(...values)
  return length === 0 ? values : values.map((value) => value / length)
}
