/** How the progress of a request under way lies in the table `reservations`: as JSON. What cannot be read is as if nobody had written it. */
import { Option, Schema } from "effect"
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
  latencyMs: Schema.Finite,
  timeToFirstTokenMs: Schema.NullOr(Schema.Finite),
  price: Schema.Struct({
    prompt: Schema.Finite,
    completion: Schema.Finite,
    cachedPrompt: Schema.NullOr(Schema.Finite)
  })
})

const decode = Schema.decodeUnknownOption(Row)

export const progressOf = (row: unknown): Progress | null => Option.getOrNull(decode(row))

/** For JSON. */
export const progressValue = (progress: Progress | null): Progress | null =>
  progress === null
    ? null
    : { ...progress, provider: storableName(progress.provider), model: storableName(progress.model) }
