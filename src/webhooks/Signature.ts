/**
 * How a webhook knows that an event is the gateway's, and fresh: HMAC-SHA256 with the secret that both know, over the time of sending and
 * the body, `timestamp.body`. A receiver compares in constant time and refuses a timestamp that is minutes old.
 */
import { createHmac } from "node:crypto"
import { Redacted } from "effect"

/** `timestamp`: Unix seconds. The value of `x-tollgate-signature`. */
export const signatureOf = (secret: Redacted.Redacted, timestamp: number, body: string): string =>
  `v1=${createHmac("sha256", Redacted.value(secret)).update(`${timestamp}.${body}`).digest("hex")}`
