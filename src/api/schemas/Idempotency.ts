/**
 * The header that makes a request safe to repeat: a name of the client's choice, unique per
 * request.
 */
import { Schema } from "effect"

export const IdempotencyHeaders = Schema.Struct({
  /** 1 to 255 printable ASCII characters. */
  "idempotency-key": Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[\x20-\x7e]{1,255}$/u)))
})
