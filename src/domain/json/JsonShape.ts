/**
 * Counts values, members per object and depth of a JSON text while its bytes arrive, so that a body
 * that would block the process is refused before it is parsed. It also detects numbers with more
 * digits than a double keeps and numbers with an exponent, and notes where long strings and the
 * long members of the outermost object are. It does not check whether the text is valid JSON.
 */
import { MAX_DEPTH } from "./Json.ts"

/** Most values. An empty list or object counts as two. */
export const MAX_VALUES = 500_000
/**
 * Most members of one object. Each name is stored, and an object with many members is slow in every
 * step.
 */
export const MAX_MEMBERS = 20_000

/** A number with this many digits before its decimal point may exceed 2^53. */
const LONG_DIGITS = 16
/** Most values of a text with such a number, because it takes ten times as long to parse. */
export const MAX_EXACT_VALUES = 150_000

/** The place of a shorter member is not noted, in bytes. */
export const LONG_MEMBER_BYTES = 4_096

/** The place of a shorter string is not noted, in bytes. */
export const LONG_STRING_BYTES = 1_024

/** The place of a string, without its quotes, in bytes. */
export interface LongString {
  /** Its number among all strings of the text, names too, from 1. */
  readonly at: number
  readonly from: number
  readonly to: number
}

/** The place of a list or object that is a member of the outermost object, in bytes. */
export interface LongMember {
  readonly nameFrom: number
  readonly nameTo: number
  readonly from: number
  readonly to: number
  /** The commas and opening brackets in it. */
  readonly marks: number
}

/** The limit that a text exceeds. */
export type Excess = "depth" | "values" | "members" | "exact"

/** Start value of the digit counter after a decimal point, so low that it never reaches zero. */
const BEHIND_POINT = -(2 ** 30)

const QUOTE = 0x22
const COMMA = 0x2c
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const LOWER_E = 0x65
const TO_LOWER = 0x20
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export class JsonShape {
  #depth = 0
  #values = 1
  /** For each level: the members of its open object. For a list a number that stays negative. */
  readonly #members = new Int32Array(MAX_DEPTH + 1)
  #inString = false
  #strings = 0
  #stringFrom = 0
  /** The last chunk ended inside a string, in an odd number of backslashes. */
  #escapes = false
  /** Digits of the current number; negative after its decimal point. */
  #digits = 0
  #mostValues = MAX_VALUES
  #hasExponent = false
  /** The bytes before the current chunk. */
  #before = 0
  /** Of the outermost object: its last string, and the list or object that is open in it. */
  #nameFrom = 0
  #nameTo = 0
  #openFrom = 0
  #openMarks = 0
  readonly #long: Array<LongMember> = []
  readonly #longStrings: Array<LongString> = []

  /** The long members of the outermost object, also those whose name comes again. */
  get longMembers(): ReadonlyArray<LongMember> {
    return this.#long
  }

  /** The long strings, in the order of the text. */
  get longStrings(): ReadonlyArray<LongString> {
    return this.#longStrings
  }

  /** The number of strings, names too. */
  get strings(): number {
    return this.#strings
  }

  /** The number of values. An empty list or object counts as two. */
  get values(): number {
    return this.#values
  }

  /** The number of members of the outermost object, if the text is one and not empty. */
  get members(): number {
    return this.#members[1] ?? 0
  }

  /** Whether a number outside of strings has more digits than a double keeps. */
  get hasLongNumber(): boolean {
    return this.#mostValues === MAX_EXACT_VALUES
  }

  /** Whether a number outside of strings has an exponent. */
  get hasExponent(): boolean {
    return this.#hasExponent
  }

  /** Reads the next bytes. Returns the limit that is exceeded, or null. */
  take(bytes: Uint8Array): Excess | null {
    let at = 0
    while (at < bytes.length) {
      if (this.#inString) {
        at = this.#skipString(bytes, at)
        continue
      }
      const byte = bytes[at++] ?? 0
      if (byte >= ZERO && byte <= NINE) {
        if (++this.#digits === LONG_DIGITS) this.#mostValues = MAX_EXACT_VALUES
        continue
      }
      if ((byte | TO_LOWER) === LOWER_E && this.#digits !== 0) this.#hasExponent = true
      this.#digits = byte === POINT ? BEHIND_POINT : 0
      switch (byte) {
        case QUOTE:
          this.#inString = true
          this.#strings++
          this.#stringFrom = this.#before + at
          if (this.#depth === 1) this.#nameFrom = this.#stringFrom
          break
        case COMMA:
          this.#values++
          if (this.#count() > MAX_MEMBERS) return "members"
          break
        case OPEN_LIST:
          this.#values++
          if (++this.#depth > MAX_DEPTH) return "depth"
          if (this.#depth === 2) this.#open(at)
          this.#members[this.#depth] = -MAX_VALUES
          break
        case OPEN_OBJECT:
          this.#values++
          if (++this.#depth > MAX_DEPTH) return "depth"
          if (this.#depth === 2) this.#open(at)
          this.#members[this.#depth] = 1
          break
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          if (this.#depth === 2) this.#close(at)
          if (this.#depth > 0) this.#depth--
          break
        default:
      }
      if (this.#values > this.#mostValues) return this.hasLongNumber ? "exact" : "values"
    }
    this.#before += bytes.length
    return null
  }

  /** Notes the begin of a member of the outermost object, whose bracket is before `at`. */
  #open(at: number): void {
    this.#openFrom = this.#before + at - 1
    this.#openMarks = this.#values - 1
  }

  #close(at: number): void {
    const to = this.#before + at
    const from = this.#openFrom
    if (to - from < LONG_MEMBER_BYTES) return
    const marks = this.#values - this.#openMarks
    this.#long.push({ nameFrom: this.#nameFrom, nameTo: this.#nameTo, from, to, marks })
  }

  /**
   * Counts an entry at the current level, and returns the number of members of the object there.
   */
  #count(): number {
    const members = (this.#members[this.#depth] ?? 0) + 1
    this.#members[this.#depth] = members
    return members
  }

  /** Returns the position after the next quote of a string, or the end of the chunk. */
  #skipString(bytes: Uint8Array, from: number): number {
    const quote = bytes.indexOf(QUOTE, from)
    const end = quote === -1 ? bytes.length : quote
    let first = end
    while (first > from && bytes[first - 1] === BACKSLASH) first--
    const isOdd = (end - first) % 2 === 1
    // The run of backslashes started in the previous chunk.
    const escapes = first === from && this.#escapes ? !isOdd : isOdd
    this.#escapes = quote === -1 && escapes
    if (quote === -1) return end
    if (!escapes) {
      this.#inString = false
      const to = this.#before + quote
      if (this.#depth === 1) this.#nameTo = to
      if (to - this.#stringFrom >= LONG_STRING_BYTES)
        this.#longStrings.push({ at: this.#strings, from: this.#stringFrom, to })
    }
    return quote + 1
  }
}
