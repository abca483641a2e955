/** Embeddings: the client's request and reply, and the provider's reply. */
import { Schema } from "effect"
import { ModelName, UsageInfo } from "./Chat.ts"
import { type TokenUsage } from "./pricing/Money.ts"
import { nullable } from "./json/WireMembers.ts"

/** Far above the context of any embedding model. */
const MOST_TOKENS = 131_072
const TokenIds = Schema.Array(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(MOST_TOKENS)
)
const inputs = <S extends Schema.Top>(input: S) =>
  Schema.Array(input).check(Schema.isMinLength(1), Schema.isMaxLength(2_048))

export const EmbeddingRequest = Schema.StructWithRest(
  Schema.Struct({
    model: ModelName,
    /** A text, a list of token ids, or a list of either. Token ids are of `cl100k_base`. */
    input: Schema.Union([Schema.String, inputs(Schema.String), TokenIds, inputs(TokenIds)]),
    user: nullable(Schema.String),
    dimensions: nullable(Schema.Int.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(16_384))),
    encoding_format: nullable(Schema.Literals(["float", "base64"]))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
).annotate({ identifier: "EmbeddingRequest" })
export type EmbeddingRequest = typeof EmbeddingRequest.Type
export type EmbeddingInput = EmbeddingRequest["input"]

const isTokenIds = (input: EmbeddingInput): input is ReadonlyArray<number> => typeof input[0] === "number"

/** The inputs one by one. Each gets a vector. */
export const inputsOf = (input: EmbeddingInput): ReadonlyArray<string | ReadonlyArray<number>> =>
  typeof input === "string" || isTokenIds(input) ? [input] : input

/** The inputs that are text. */
export const textsOf = (input: EmbeddingInput): ReadonlyArray<string> =>
  inputsOf(input).filter((one) => typeof one === "string")

/**
 * `embedding`: an array of numbers, or with `encoding_format: "base64"` the little-endian float32
 * bytes in base64.
 */
export const EmbeddingVector = Schema.Struct({
  object: Schema.Literal("embedding").annotate({ default: "embedding" }),
  index: Schema.Int,
  embedding: Schema.Union([Schema.Array(Schema.Finite), Schema.String])
}).annotate({ identifier: "EmbeddingVector" })

export const EmbeddingResponse = Schema.Struct({
  object: Schema.Literal("list").annotate({ default: "list" }),
  data: Schema.Array(EmbeddingVector),
  model: Schema.String,
  provider: Schema.String,
  usage: UsageInfo
}).annotate({ identifier: "EmbeddingResponse" })
export type EmbeddingResponse = typeof EmbeddingResponse.Type

/** A provider's vectors, in the order of the inputs. */
export interface EmbeddingReply {
  readonly vectors: ReadonlyArray<ReadonlyArray<number>>
  readonly usage: TokenUsage | null
}
