/**
 * Identifiers: a prefix that names the kind, and 32 hexadecimal digits, 12 of the Unix time in
 * milliseconds and 20 random. They sort by creation time, which keeps database indexes compact.
 * They are names, not secrets.
 */
import { Context, Layer } from "effect"

export type IdPrefix =
  | "prv"
  | "gen"
  | "ref"
  | "out"
  | "key"
  | "req"
  | "chatcmpl"
  | "resp"
  | "prc"
  | "usr"
  | "ses"
  | "chl"
  | "evt"
  | "dlv"
  | "aud"

const RANDOM_BYTES = 10
/**
 * Random bytes are drawn for many identifiers at once: a draw for each makes a kilobyte of garbage.
 */
const BYTES_A_DRAW = 2_560

/** Makes a source of random bytes, written in hexadecimal digits. It gives each byte once. */
export const makeRandomHex = (): ((bytes: number) => string) => {
  const random = Buffer.alloc(BYTES_A_DRAW)
  let used = random.length
  return (bytes) => {
    if (used + bytes > random.length) {
      globalThis.crypto.getRandomValues(random)
      used = 0
    }
    return random.toString("hex", used, (used += bytes))
  }
}

export class Ids extends Context.Service<
  Ids,
  {
    /** A new identifier, such as `gen_019a5b3c…`. `nowMs`: Unix time in milliseconds. */
    readonly next: (prefix: IdPrefix, nowMs: number) => string
  }
>()("tollgate/domain/Ids") {
  static readonly layer = Layer.sync(Ids, () => {
    const randomHex = makeRandomHex()
    return { next: (prefix: IdPrefix, nowMs: number) => `${prefix}_${timeDigits(nowMs)}${randomHex(RANDOM_BYTES)}` }
  })

  /** Counts instead of drawing random digits, so that tests can assert exact values. */
  static readonly layerSequence = Layer.sync(Ids, () => {
    let count = 0
    return {
      next: (prefix: IdPrefix, nowMs: number) => `${prefix}_${timeDigits(nowMs)}${String(++count).padStart(20, "0")}`
    }
  })
}

const timeDigits = (nowMs: number): string => Math.trunc(nowMs).toString(16).padStart(12, "0")

const LAST_TIME_MS = 0xffffffffffff

/** The lower bound of identifiers created at `ms` or later. Earlier ones are below it. */
export const idBound = (prefix: IdPrefix, ms: number): string =>
  `${prefix}_${timeDigits(Math.min(Math.max(0, Math.ceil(ms)), LAST_TIME_MS))}`

/** The creation time inside an identifier, in Unix milliseconds. */
export const idTimeMs = (id: string): number => parseInt(id.slice(id.indexOf("_") + 1, id.indexOf("_") + 13), 16)

/** True if a text has the form of an identifier of this kind. */
export const isId = (prefix: IdPrefix, text: string): boolean => text.startsWith(`${prefix}_`) && idForm.test(text)

const idForm = /^[a-z]+_[0-9a-f]{32}$/
