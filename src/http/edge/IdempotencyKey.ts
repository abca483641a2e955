/**
 * Reads the idempotency key of a request, with the secret that was sent: the same key under another
 * secret is another request.
 */
import { Redacted } from "effect"
import { type IdempotencyHeaders } from "../../api/schemas/Idempotency.ts"
import { type SentKey } from "../../gateway/idempotency/Idempotency.ts"

export const idempotencyKeyOf = (headers: typeof IdempotencyHeaders.Type, credential: string): SentKey | null => {
  const name = headers["idempotency-key"]
  return name === undefined ? null : { name, secret: Redacted.make(credential) }
}
