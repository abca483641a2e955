/** The HTTP request of a generation as JSON in the ledger. */
import { Schema } from "effect"

export const AnsweredRequestRow = Schema.Struct({
  id: Schema.String,
  endpoint: Schema.String,
  status: Schema.Finite
})
