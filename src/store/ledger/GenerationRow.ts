/**
 * A generation as a row of the table `generations`. Members that are filtered or summed have
 * columns of their own; the rest of the receipt is one jsonb.
 */
import { Effect, Schema } from "effect"
import { type Generation, stickyStates } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { tableOf } from "../sql/Rows.ts"
import { AnsweredRequestRow } from "./AnsweredRequestRow.ts"
import { BillLineRow, ClassCounts } from "./BillLineRow.ts"
import { storableGeneration } from "./StorableGeneration.ts"

const Receipt = Schema.Struct({
  attempts: Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      model: Schema.String,
      key: Schema.optionalKey(Schema.Finite),
      status: Schema.Literals(["ok", "error", "timeout", "cancelled", "skipped"]),
      latencyMs: Schema.Finite,
      startedMs: Schema.optionalKey(Schema.Finite),
      endedMs: Schema.optionalKey(Schema.Finite),
      message: Schema.optionalKey(Schema.String),
      errorType: Schema.NullOr(Schema.String),
      httpStatus: Schema.NullOr(Schema.Finite),
      charge: Schema.optionalKey(
        Schema.Struct({
          usage: Schema.Struct({
            promptTokens: Schema.Finite,
            completionTokens: Schema.Finite,
            cachedTokens: Schema.Finite
          }),
          totalNano: Schema.Finite
        })
      )
    })
  ),
  excluded: Schema.Array(Schema.Struct({ slug: Schema.String, model: Schema.String, reason: Schema.String })),
  price: Schema.Struct({
    prompt: Schema.Finite,
    completion: Schema.Finite,
    cachedPrompt: Schema.NullOr(Schema.Finite)
  }),
  reservation: Schema.Struct({
    reservedNano: Schema.Finite,
    extendedNano: Schema.Finite,
    settledNano: Schema.Finite
  }),
  reasoningTokens: Schema.optionalKey(Schema.Finite),
  rare: Schema.optionalKey(ClassCounts),
  serviceTier: Schema.optionalKey(Schema.String),
  lines: Schema.optionalKey(Schema.Array(BillLineRow)),
  feesNano: Schema.optionalKey(Schema.Finite),
  dropped: Schema.optionalKey(Schema.Array(Schema.String)),
  requestedModel: Schema.optionalKey(Schema.String),
  sticky: Schema.optionalKey(Schema.Literals(stickyStates)),
  request: Schema.optionalKey(AnsweredRequestRow),
  parameters: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))
  ),
  masked: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite))
})

const Row = Schema.Struct({
  id: Schema.String,
  keyId: Schema.String,
  ownerId: Schema.NullOr(Schema.String),
  model: Schema.String,
  provider: Schema.String,
  month: Schema.String,
  createdAtMs: Schema.Finite,
  promptTokens: Schema.Finite,
  completionTokens: Schema.Finite,
  cachedTokens: Schema.Finite,
  usageSource: Schema.Literals(["provider", "counted", "estimated", "cache"]),
  promptNano: Schema.Finite,
  completionNano: Schema.Finite,
  cacheDiscountNano: Schema.Finite,
  totalNano: Schema.Finite,
  markupNano: Schema.Finite,
  billedNano: Schema.Finite,
  latencyMs: Schema.Finite,
  timeToFirstTokenMs: Schema.NullOr(Schema.Finite),
  fallbackUsed: Schema.Boolean,
  cacheHit: Schema.Boolean,
  streamed: Schema.Boolean,
  cancelled: Schema.Boolean,
  finishReason: Schema.NullOr(Schema.String),
  errorType: Schema.NullOr(Schema.String),
  receipt: Receipt
})
type Row = typeof Row.Type

const table = tableOf("generations", Row)

/** The values of the columns, in the order of `generationColumns`, for JSON. */
export const generationValues = (given: Generation, month: string): ReadonlyArray<unknown> => {
  const generation = storableGeneration(given)
  const { cost, usage } = generation
  return [
    generation.id,
    generation.keyId,
    generation.ownerId,
    generation.model,
    generation.provider,
    month,
    generation.createdAtMs,
    usage.promptTokens,
    usage.completionTokens,
    usage.cachedTokens,
    generation.usageSource,
    cost.promptNano,
    cost.completionNano,
    cost.cacheDiscountNano,
    cost.totalNano,
    cost.markupNano,
    cost.billedNano,
    generation.latencyMs,
    generation.timeToFirstTokenMs,
    generation.fallbackUsed,
    generation.cacheHit,
    generation.streamed,
    generation.cancelled,
    generation.finishReason,
    generation.errorType,
    receiptOf(generation)
  ]
}

/** Every other part. JSON leaves out undefined members. */
const receiptOf = (generation: Generation): Partial<Record<keyof Row["receipt"], unknown>> => ({
  attempts: generation.attempts,
  excluded: generation.excluded,
  price: generation.price,
  reservation: generation.reservation,
  reasoningTokens: generation.usage.reasoningTokens,
  rare: generation.usage.rare,
  serviceTier: generation.usage.serviceTier,
  requestedModel: generation.requestedModel,
  lines: generation.cost.lines.length === 0 ? undefined : generation.cost.lines,
  feesNano: generation.cost.feesNano === 0 ? undefined : generation.cost.feesNano,
  dropped: generation.dropped,
  sticky: generation.sticky,
  request: generation.request,
  parameters: generation.parameters,
  masked: generation.masked
})

/** Parts of the receipt, because they have no columns. */
const detailsOf = ({ rare, reasoningTokens, serviceTier }: UsageDetails): UsageDetails => ({
  ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  ...(rare === undefined ? {} : { rare }),
  ...(serviceTier === undefined ? {} : { serviceTier })
})
type UsageDetails = Pick<TokenUsage, "rare" | "reasoningTokens" | "serviceTier">

const requestedOf = ({ requestedModel }: { readonly requestedModel?: string }) =>
  requestedModel === undefined ? {} : { requestedModel }

const aboutRequest = ({ masked, parameters, request }: AboutRequest): AboutRequest => ({
  ...(request === undefined ? {} : { request }),
  ...(parameters === undefined ? {} : { parameters }),
  ...(masked === undefined ? {} : { masked })
})
type AboutRequest = Pick<Generation, "masked" | "parameters" | "request">

/** Rows of earlier versions have no lines and no fees. */
const generationOf = ({
  receipt: { attempts, dropped, excluded, feesNano = 0, lines = [], price, reservation, sticky, ...receipt },
  ...row
}: Row): Generation => ({
  id: row.id,
  keyId: row.keyId,
  ownerId: row.ownerId,
  model: row.model,
  provider: row.provider,
  ...requestedOf(receipt),
  createdAtMs: row.createdAtMs,
  usage: {
    promptTokens: row.promptTokens,
    completionTokens: row.completionTokens,
    cachedTokens: row.cachedTokens,
    ...detailsOf(receipt)
  },
  usageSource: row.usageSource,
  cost: {
    promptNano: row.promptNano,
    completionNano: row.completionNano,
    cacheDiscountNano: row.cacheDiscountNano,
    feesNano,
    totalNano: row.totalNano,
    markupNano: row.markupNano,
    billedNano: row.billedNano,
    lines
  },
  latencyMs: row.latencyMs,
  timeToFirstTokenMs: row.timeToFirstTokenMs,
  fallbackUsed: row.fallbackUsed,
  cacheHit: row.cacheHit,
  streamed: row.streamed,
  cancelled: row.cancelled,
  finishReason: row.finishReason,
  errorType: row.errorType,
  attempts,
  excluded,
  price,
  reservation,
  ...(dropped === undefined ? {} : { dropped }),
  ...(sticky === undefined ? {} : { sticky }),
  ...aboutRequest(receipt)
})

/** Every column, in order. */
export const generationColumns = table.columns
export const decodeGenerations = (rows: ReadonlyArray<object>): Effect.Effect<ReadonlyArray<Generation>> =>
  Effect.map(table.decode(rows), (decoded) => decoded.map(generationOf))
