/**
 * Seals stored replies with a key derived from the caller's secret: see gateway/Sealing. The same
 * secret keys the fingerprint that tells a retry from another request, so that a prompt cannot be
 * guessed from its hash.
 */
import { createHmac, createSecretKey, hash, type Hmac } from "node:crypto"
import { Effect, type Redacted } from "effect"
import { KEY_BYTES, keyMaterial, makeSealing, type Sealing } from "../Sealing.ts"

/**
 * Change this with the format of stored replies: those of an older format then count as another
 * request's.
 */
const FORM = "tollgate kept reply 1"

export interface Seal extends Pick<Sealing, "close"> {
  /** The id under which the key is stored; it does not depend on the secret. */
  readonly id: string
  readonly fingerprint: string
  /** Opens a reply that was sealed with this id and fingerprint; anything else is a defect. */
  readonly open: (sealed: Uint8Array) => Effect.Effect<string>
}

/**
 * `name`: the client's key. `feed` adds the request's content to a hash. Works when it is called.
 */
export const sealOf = (
  keyId: string,
  name: string,
  secret: Redacted.Redacted,
  feed: (hash: Hmac) => Effect.Effect<void>
): Effect.Effect<Seal> => {
  const id = hash("sha256", `${keyId}\n${name}`, "hex")
  const material = keyMaterial(secret, id, FORM, KEY_BYTES * 2)
  const hmac = createHmac("sha256", createSecretKey(material.subarray(KEY_BYTES)))
  return Effect.mapEager(feed(hmac), (): Seal => {
    const fingerprint = hmac.digest("hex")
    const { close, open } = makeSealing(material.subarray(0, KEY_BYTES), fingerprint)
    return { id, fingerprint, close, open: (sealed) => Effect.orDie(open(sealed)) }
  })
}
