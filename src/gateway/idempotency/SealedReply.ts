/**
 * How a reply is kept for a retry: compressed, then sealed with a key that is made of the caller's own secret. The gateway knows that
 * secret only while it answers the caller, so nobody else, whoever holds the database, can read what is kept. The same secret makes
 * the fingerprint by which a retry is told from another request, so that a prompt cannot be guessed by its hash.
 */
import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, type Hmac, randomBytes } from "node:crypto"
import { deflateRaw, inflateRaw } from "node:zlib"
import { Effect, Redacted } from "effect"

/** A change of how replies are written needs another one: what was kept before is then another request's. */
const FORM = "tollgate kept reply 1"
const CIPHER = "aes-256-gcm"
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Seal {
  /** What the key of this name is stored as; the same whatever the secret. */
  readonly id: string
  readonly fingerprint: string
  readonly close: (reply: string) => Effect.Effect<Uint8Array>
  /** Opens what was closed under this id and fingerprint; anything else is a defect. */
  readonly open: (sealed: Uint8Array) => Effect.Effect<string>
}

/** `name`: the client's. `feed`: gives a hash all that the request says. */
export const sealOf = (
  keyId: string,
  name: string,
  secret: Redacted.Redacted,
  feed: (hash: Hmac) => Effect.Effect<void>
): Effect.Effect<Seal> =>
  Effect.suspend(() => {
    const id = hash("sha256", `${keyId}\n${name}`, "hex")
    const material = Buffer.from(hkdfSync("sha256", Redacted.value(secret), id, FORM, KEY_BYTES * 2))
    const [cipherKey, macKey] = [material.subarray(0, KEY_BYTES), material.subarray(KEY_BYTES)]
    const hmac = createHmac("sha256", macKey)
    return Effect.map(feed(hmac), () => makeSeal(id, hmac.digest("hex"), cipherKey))
  })

const makeSeal = (id: string, fingerprint: string, cipherKey: Uint8Array): Seal => {
  const encrypt = (data: Uint8Array): Uint8Array => {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, cipherKey, nonce).setAAD(Buffer.from(fingerprint))
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()])
  }

  const decrypt = (sealed: Uint8Array): Uint8Array => {
    const decipher = createDecipheriv(CIPHER, cipherKey, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(fingerprint))
      .setAuthTag(sealed.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  }

  return {
    id,
    fingerprint,
    close: (reply) => Effect.map(zlib(deflateRaw, Buffer.from(reply)), encrypt),
    open: (sealed) =>
      Effect.suspend(() => zlib(inflateRaw, decrypt(sealed))).pipe(Effect.map((data) => data.toString()))
  }
}

type Zlib = (data: Uint8Array, done: (error: Error | null, result: Buffer) => void) => void

/** Off the event loop: replies may be large. */
const zlib = (run: Zlib, data: Uint8Array): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    run(data, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
  })
