/**
 * The signature of webhook deliveries: HMAC-SHA256 with the shared secret over `timestamp.body`. It
 * proves origin and freshness. Receivers compare it in constant time and reject timestamps that are
 * minutes old.
 */
import { createHmac } from "node:crypto"
import { Redacted } from "effect"

/** The value of `x-tollgate-signature`. `timestamp`: Unix seconds. */
export const signatureOf = (secret: Redacted.Redacted, timestamp: number, body: string): string =>
  `v1=${createHmac("sha256", Redacted.value(secret)).update(`${timestamp}.${body}`).digest("hex")}`
