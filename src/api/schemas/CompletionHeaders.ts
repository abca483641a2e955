/** The headers that every API of completions takes. */
import { Schema } from "effect"
import { DeadlineHeaders } from "./Deadline.ts"
import { IdempotencyHeaders } from "./Idempotency.ts"
import { SessionHeaders } from "./Session.ts"

export const CompletionHeaders = Schema.Struct({
  ...SessionHeaders.fields,
  ...IdempotencyHeaders.fields,
  ...DeadlineHeaders.fields
})
export type CompletionHeaders = typeof CompletionHeaders.Type
