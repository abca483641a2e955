/**
 * Encrypts stored replies: a reply is compressed, then sealed with a key derived from the caller's
 * secret. The gateway knows that secret only while it answers the caller, so a reader of the
 * database cannot read stored replies. The same secret keys the fingerprint that tells a retry from
 * another request, so that a prompt cannot be guessed from its hash.
 */
import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, type Hmac, randomBytes } from "node:crypto"
import { deflateRaw, inflateRaw } from "node:zlib"
import { Effect, Redacted } from "effect"

/**
 * Change this with the format of stored replies: those of an older format then count as another
 * request's.
 */
const FORM = "tollgate kept reply 1"
const CIPHER = "aes-256-gcm"
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Seal {
  /** The id under which the key is stored; it does not depend on the secret. */
  readonly id: string
  readonly fingerprint: string
  readonly close: (reply: string) => Effect.Effect<Uint8Array>
  /** Opens a reply that was sealed with this id and fingerprint; anything else is a defect. */
  readonly open: (sealed: Uint8Array) => Effect.Effect<string>
}

/** `name`: the client's key. `feed` adds the request's content to a hash. */
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

/** Runs off the event loop, because replies may be large. */
const zlib = (run: Zlib, data: Uint8Array): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    run(data, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
  })
