/**
 * Encrypts cache entries that leave the process, with a key that all processes share through the
 * SecretStore. Access to the cache without that key reveals no reply. An entry decrypts only under
 * its own name. The key is read on first use.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { Effect, Option, Redacted } from "effect"
import { SecretStore } from "../secrets/SecretStore.ts"

const CIPHER = "aes-256-gcm"
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export const makeCacheSeal = Effect.gen(function* () {
  const secretStore = yield* SecretStore
  let cachedKey: KeyObject | null = null
  const make = Effect.sync(() => randomBytes(KEY_BYTES).toString("base64url"))
  const sealKey = () =>
    cachedKey === null
      ? Effect.map(
          secretStore.getOrCreate("prompt-cache", make),
          (secret) => (cachedKey = createSecretKey(Redacted.value(secret), "base64url"))
        )
      : Effect.succeed(cachedKey)

  const encrypt = (key: KeyObject, name: string, text: string): string => {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name))
    const data = cipher.update(text, "utf8", "base64") + cipher.final("base64")
    return `${nonce.toString("base64")}.${data}.${cipher.getAuthTag().toString("base64")}`
  }

  const decrypt = (key: KeyObject, name: string, sealed: string): string => {
    const [nonce = "", data = "", tag = ""] = sealed.split(".")
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, "base64"), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(name))
      .setAuthTag(Buffer.from(tag, "base64"))
    return decipher.update(data, "base64", "utf8") + decipher.final("utf8")
  }

  return {
    /** Encrypts when it is called, once the key is known. */
    close: (name: string, text: string) => Effect.mapEager(sealKey(), (key) => encrypt(key, name, text)),
    /**
     * None when the entry was not encrypted by this key under this name, such as one from a version
     * that did not encrypt.
     */
    open: (name: string, sealed: Option.Option<string>) =>
      Option.isNone(sealed)
        ? Effect.succeedNone
        : Effect.flatMapEager(sealKey(), (key) => Effect.option(Effect.try(() => decrypt(key, name, sealed.value))))
  }
})
