/**
 * The lines of a bill, and counts by usage class, as they lie in the JSON of a receipt or of a
 * progress.
 */
import { Schema } from "effect"
import { type RareClass, rareClasses } from "../../domain/pricing/UsageClass.ts"

const Count = Schema.optionalKey(Schema.Finite)

export const ClassCounts = Schema.Struct({
  cache_write: Count,
  cache_write_1h: Count,
  prompt_audio: Count,
  cached_audio: Count,
  completion_audio: Count,
  completion_image: Count,
  request: Count,
  web_search: Count
} satisfies Record<RareClass, typeof Count>)

export const BillLineRow = Schema.Struct({
  class: Schema.Literals(["prompt", "cached_prompt", "completion", ...rareClasses]),
  quantity: Schema.Finite,
  price: Schema.Finite,
  nano: Schema.Finite,
  assumed: Schema.optionalKey(Schema.Literal(true))
})
