/**
 * The progress of a running request as JSON in the table `reservations`. Unreadable progress counts
 * as absent.
 */
import { Effect, Option, Schema } from "effect"
import { AnsweredRequestRow } from "./AnsweredRequestRow.ts"
import { BillLineRow } from "./BillLineRow.ts"
import type { Progress } from "./Ledger.ts"
import { storableName } from "./StorableGeneration.ts"

const Row = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  streamed: Schema.Boolean,
  promptTokens: Schema.Finite,
  completionTokens: Schema.Finite,
  promptNano: Schema.Finite,
  completionNano: Schema.Finite,
  markupNano: Schema.Finite,
  /** Absent in rows of earlier versions. */
  lines: Schema.Array(BillLineRow).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  latencyMs: Schema.Finite,
  timeToFirstTokenMs: Schema.NullOr(Schema.Finite),
  price: Schema.Struct({
    prompt: Schema.Finite,
    completion: Schema.Finite,
    cachedPrompt: Schema.NullOr(Schema.Finite)
  }),
  request: Schema.optionalKey(AnsweredRequestRow)
})

const decode = Schema.decodeUnknownOption(Row)

export const progressOf = (row: unknown): Progress | null => Option.getOrNull(decode(row))

/** As a value for JSON. */
export const progressValue = (progress: Progress | null): Progress | null =>
  progress === null
    ? null
    : { ...progress, provider: storableName(progress.provider), model: storableName(progress.model) }
