/**
 * The secrets of API keys: `tg-<public id>-<secret>`. The secret has 256 bits from the CSPRNG and
 * is shown once. The record stores the SHA-256 of the whole string, which at that entropy needs
 * neither salt nor a slow hash. Hashes are compared in constant time.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { Option, Redacted } from "effect"
import { type KeyRecord } from "../../domain/Key.ts"

export interface KeySecret {
  readonly secret: Redacted.Redacted
  readonly publicId: string
  readonly hash: string
  /** Safe to show: `tg-ab12…`. */
  readonly prefix: string
}

const PUBLIC_ID_BYTES = 8
const SECRET_BYTES = 32
const SHOWN_CHARACTERS = 4
const form = /^tg-([0-9a-f]{16})-[A-Za-z0-9_-]{43}$/

const digest = (secret: string): string => hash("sha256", secret, "hex")

/**
 * Generates a secret. A rotation keeps the key's public id, so that the old and the new secret find
 * the same record.
 */
export const makeSecret = (publicId = randomBytes(PUBLIC_ID_BYTES).toString("hex")): KeySecret => {
  const secret = `tg-${publicId}-${randomBytes(SECRET_BYTES).toString("base64url")}`
  return {
    secret: Redacted.make(secret),
    publicId,
    hash: digest(secret),
    prefix: `tg-${publicId.slice(0, SHOWN_CHARACTERS)}…`
  }
}

/**
 * The public id and the hash of a client's secret; none when it does not have the form of a key.
 */
export const readSecret = (sent: string): Option.Option<{ readonly publicId: string; readonly hash: string }> => {
  const publicId = form.exec(sent)?.[1]
  return publicId === undefined ? Option.none() : Option.some({ publicId, hash: digest(sent) })
}

/** Whether two hex hashes are equal, in constant time. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/**
 * Whether two secrets are equal, in a time that reveals neither where they differ nor their
 * lengths.
 */
export const sameSecret = (a: string, b: string): boolean => sameHash(digest(a), digest(b))

/**
 * Whether a hash is the key's current one, or its previous one within the grace period of a
 * rotation.
 */
export const isOpenedBy = (key: KeyRecord, hash: string, nowMs: number): boolean => {
  const current = sameHash(key.secretHash, hash)
  const previous =
    key.previousSecretHash !== null &&
    key.previousValidUntilMs !== null &&
    nowMs < key.previousValidUntilMs &&
    sameHash(key.previousSecretHash, hash)
  return current || previous
}
