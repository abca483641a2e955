/**
 * Identifiers. Each is a prefix that says what it names and 32 hexadecimal digits: 12 of the Unix time in milliseconds,
 * 20 of randomness. They sort by time of birth, which keeps database indexes compact; they are names, never secrets.
 */
import { Context, Layer } from "effect"

export type IdPrefix = "prv" | "gen" | "key" | "req" | "chatcmpl" | "prc" | "usr" | "ses" | "chl" | "evt" | "dlv"

export class Ids extends Context.Service<
  Ids,
  {
    /** A new identifier, e.g. `gen_019a5b3c…`. `nowMs`: Unix time in milliseconds. */
    readonly next: (prefix: IdPrefix, nowMs: number) => string
  }
>()("tollgate/domain/Ids") {
  static readonly layer = Layer.succeed(Ids, {
    next: (prefix, nowMs) => `${prefix}_${timeDigits(nowMs)}${randomDigits()}`
  })

  /** Counts up instead of drawing randomness, so that tests can assert whole bytes. */
  static readonly layerSequence = Layer.sync(Ids, () => {
    let count = 0
    return {
      next: (prefix: IdPrefix, nowMs: number) => `${prefix}_${timeDigits(nowMs)}${String(++count).padStart(20, "0")}`
    }
  })
}

/** 20 digits: those parts of a UUID that are random throughout. */
const randomDigits = (): string => {
  const uuid = globalThis.crypto.randomUUID()
  return `${uuid.slice(0, 8)}${uuid.slice(24)}`
}

const timeDigits = (nowMs: number): string => Math.trunc(nowMs).toString(16).padStart(12, "0")

const LAST_TIME_MS = 0xffffffffffff

/** What every identifier born at `ms` or later is not below, and every earlier one is. */
export const idBound = (prefix: IdPrefix, ms: number): string =>
  `${prefix}_${timeDigits(Math.min(Math.max(0, Math.ceil(ms)), LAST_TIME_MS))}`

/** When an identifier was born, as it says itself: Unix milliseconds. */
export const idTimeMs = (id: string): number => parseInt(id.slice(id.indexOf("_") + 1, id.indexOf("_") + 13), 16)

/** Whether a text has the form of an identifier of this kind; what has not names nothing. */
export const isId = (prefix: IdPrefix, text: string): boolean => text.startsWith(`${prefix}_`) && idForm.test(text)

const idForm = /^[a-z]+_[0-9a-f]{32}$/
