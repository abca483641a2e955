/**
 * A file served from memory, compressed for clients that accept gzip. Clients that already have it
 * get a 304.
 */
import { Effect } from "effect"
import { type Headers, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"

export interface Asset {
  readonly type: string
  readonly bytes: Uint8Array
  readonly zipped: Uint8Array | null
  readonly etag: string
}

export const makeAsset = (type: string, bytes: Uint8Array, zipped: Uint8Array | null): Asset => ({
  type,
  bytes,
  zipped,
  etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
})

const zip = promisify(gzip)

/** Makes an asset of a text and compresses it. */
export const zippedAsset = (type: string, text: string): Effect.Effect<Asset> => {
  const bytes = Buffer.from(text)
  return Effect.map(
    Effect.promise(() => zip(bytes, { level: 9 })),
    (zipped) => makeAsset(type, bytes, zipped)
  )
}

/**
 * Responds to a request with the headers `asked`. `headers` are sent in addition to the asset's
 * own.
 */
export const respondWith = (
  { bytes, etag, type, zipped }: Asset,
  asked: Headers.Headers,
  headers: Readonly<Record<string, string>>
): HttpServerResponse.HttpServerResponse => {
  const always = { ...headers, etag, vary: "accept-encoding" }
  if ((asked["if-none-match"] ?? "").includes(etag)) {
    return HttpServerResponse.empty({ status: 304, headers: always })
  }
  const encoded = zipped !== null && /\bgzip\b/.test(asked["accept-encoding"] ?? "")
  return HttpServerResponse.uint8Array(encoded ? zipped : bytes, {
    headers: { ...always, "content-type": type, ...(encoded ? { "content-encoding": "gzip" } : {}) }
  })
}
