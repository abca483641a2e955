/**
 * Compresses and encrypts texts that the database keeps for a caller (AES-256-GCM). The key comes
 * from the caller's secret, which the gateway knows only while it answers the caller, so a reader
 * of the database cannot read them.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from "node:crypto"
import { deflateRaw, inflateRaw } from "node:zlib"
import { type Cause, Effect, Redacted } from "effect"

const CIPHER = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16

export const KEY_BYTES = 32

/**
 * Texts up to this length are encrypted as they are, in the one uncompressed block that deflate
 * provides for: to compress a short text costs more than its bytes in a row, which Postgres keeps
 * in place up to about two kilobytes.
 */
export const PLAIN_BYTES = 1_536
/** First byte of a deflate stream that is one uncompressed block. */
const PLAIN_BLOCK = 1
/** The first byte, the length and its complement. */
const PLAIN_HEADER_BYTES = 5

export interface Sealing {
  /** Works when it is called, for a short text. */
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
export const makeSealing = (keyBytes: Uint8Array, binding: string): Sealing => {
  // For a key in a buffer Node makes and catches an error in each call.
  const key = createSecretKey(keyBytes)

  const encrypt = (data: Uint8Array): Uint8Array => {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(binding))
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()])
  }

  const decrypt = (sealed: Uint8Array): Buffer => {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(binding))
      .setAuthTag(sealed.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  }

  return {
    close: (text) => {
      const bytes = Buffer.byteLength(text)
      return bytes <= PLAIN_BYTES
        ? Effect.succeed(encrypt(plainBlock(text, bytes)))
        : Effect.map(zlib(deflateRaw, Buffer.from(text)), encrypt)
    },
    open: (sealed) =>
      Effect.flatMap(
        Effect.try(() => decrypt(sealed)),
        (data) =>
          isPlainBlock(data)
            ? Effect.succeed(data.toString("utf8", PLAIN_HEADER_BYTES))
            : Effect.map(zlib(inflateRaw, data), (text) => text.toString())
      )
  }
}

const plainBlock = (text: string, bytes: number): Buffer => {
  const block = Buffer.allocUnsafe(PLAIN_HEADER_BYTES + bytes)
  block.writeUInt8(PLAIN_BLOCK)
  block.writeUInt16LE(bytes, 1)
  block.writeUInt16LE(bytes ^ 0xffff, 3)
  block.write(text, PLAIN_HEADER_BYTES)
  return block
}

const isPlainBlock = (data: Buffer): boolean =>
  data[0] === PLAIN_BLOCK && data.readUInt16LE(1) === data.length - PLAIN_HEADER_BYTES

type Zlib = (data: Uint8Array, done: (error: Error | null, result: Buffer) => void) => void

/** Runs off the event loop, because texts may be large. */
const zlib = (run: Zlib, data: Uint8Array): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    run(data, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
  })
