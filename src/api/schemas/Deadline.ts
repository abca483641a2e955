/**
 * Headers for the time that a client waits for the beginning of a response. A value that is not a
 * positive number is ignored.
 */
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
