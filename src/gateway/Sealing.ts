/**
 * Compresses and encrypts texts that the database keeps for a caller (AES-256-GCM). The key comes
 * from the caller's secret, which the gateway knows only while it answers the caller, so a reader
 * of the database cannot read them.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { deflateRaw, inflateRaw } from "node:zlib"
import { type Cause, Effect, Redacted } from "effect"

const CIPHER = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16

export const KEY_BYTES = 32

export interface Sealing {
  readonly close: (text: string) => Effect.Effect<Uint8Array>
  /** Fails for everything that was not closed with this key and this binding. */
  readonly open: (sealed: Uint8Array) => Effect.Effect<string, Cause.UnknownError>
}

/**
 * `bytes` of key material. It differs for each `salt`, and for each `form`, the name and version of
 * the stored format.
 */
export const keyMaterial = (secret: Redacted.Redacted, salt: string, form: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", Redacted.value(secret), salt, form, bytes))

/** `binding`: a sealed text opens only with the same one. */
export const makeSealing = (key: Uint8Array, binding: string): Sealing => {
  const encrypt = (data: Uint8Array): Uint8Array => {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(binding))
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()])
  }

  const decrypt = (sealed: Uint8Array): Uint8Array => {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(binding))
      .setAuthTag(sealed.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  }

  return {
    close: (text) => Effect.map(zlib(deflateRaw, Buffer.from(text)), encrypt),
    open: (sealed) =>
      Effect.try(() => decrypt(sealed)).pipe(
        Effect.flatMap((data) => zlib(inflateRaw, data)),
        Effect.map((data) => data.toString())
      )
  }
}

type Zlib = (data: Uint8Array, done: (error: Error | null, result: Buffer) => void) => void

/** Runs off the event loop, because texts may be large. */
const zlib = (run: Zlib, data: Uint8Array): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    run(data, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
  })
