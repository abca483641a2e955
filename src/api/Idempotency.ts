/** The header by which a client makes a request safe to send again: any name of its own choice, one for each request. */
import { Schema } from "effect"

export const IdempotencyHeaders = Schema.Struct({
  /** 1 to 255 printable characters of ASCII. */
  "idempotency-key": Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[\x20-\x7e]{1,255}$/u)))
})
