/** How long a client waits for an answer to begin. A value that is not a positive number counts as not sent. */
import { Schema } from "effect"

export const DeadlineHeaders = Schema.Struct({
  "x-tollgate-timeout-ms": Schema.optionalKey(
    Schema.String.annotate({ description: "How long the client waits for an answer to begin, in milliseconds." })
  ),
  "x-stainless-timeout": Schema.optionalKey(
    Schema.String.annotate({ description: "The same in seconds, as SDKs send it. It never lengthens a wait." })
  )
})
export type DeadlineHeaders = typeof DeadlineHeaders.Type
