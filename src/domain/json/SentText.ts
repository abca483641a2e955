/**
 * The text of long lists, objects and strings as their client wrote it, so that a provider gets
 * them without a copy that is written anew. A value has a text only if the text means what the
 * value is: a text that repeats a name, which readers understand in different ways, has none. A
 * changed value is another one, so it has none either.
 *
 * The text is given once and then forgotten, so that a request does not keep its body while it is
 * answered. The value is written anew for a further call. The length of the text stays known.
 */
import { type JsonShape, type LongString } from "./JsonShape.ts"

const texts = new WeakMap<object, Buffer>()

/** The text of a value, in UTF-8; undefined if it is not known. */
export const takeText = (value: unknown): Buffer | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const text = texts.get(value)
  if (text !== undefined) texts.delete(value)
  return text
}

/** The same, without forgetting it. */
export const sentText = (value: object): Buffer | undefined => texts.get(value)

const lengths = new WeakMap<object, number>()

/**
 * The bytes of a value's text, of which `JSON.stringify` writes at most as many; undefined if they
 * are not known.
 */
export const sentBytes = (value: object): number | undefined => lengths.get(value)

/** The most strings of one length that are compared with a string. */
const MOST_COMPARED = 16

/** Strings of one length, in the order of the text. */
interface OfLength {
  readonly strings: Array<{ readonly value: string; readonly from: number; readonly to: number }>
  /** The string that is expected next, because a translation keeps the order. */
  next: number
}

/** The long strings of a body, which are found by their length, because to hash them costs more. */
export class SentStrings {
  readonly #bytes: Buffer
  readonly #byLength = new Map<number, OfLength>()

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  add(value: string, { from, to }: LongString): void {
    const known = this.#byLength.get(value.length)
    if (known === undefined) this.#byLength.set(value.length, { strings: [{ value, from, to }], next: 0 })
    else known.strings.push({ value, from, to })
  }

  get isEmpty(): boolean {
    return this.#byLength.size === 0
  }

  /** Whether a string of the same length is known. */
  mayHave(value: string): boolean {
    return this.#byLength.has(value.length)
  }

  /** The text of a string with its quotes, in UTF-8. */
  textOf(value: string): Buffer | undefined {
    const known = this.#byLength.get(value.length)
    if (known === undefined) return undefined
    const { next, strings } = known
    for (let compared = 0; compared < Math.min(strings.length, MOST_COMPARED); compared++) {
      const at = (next + compared) % strings.length
      const found = strings[at]
      if (found?.value !== value) continue
      known.next = (at + 1) % strings.length
      return this.#bytes.subarray(found.from - 1, found.to + 1)
    }
    return undefined
  }
}

/** All long members of a body share what is kept of its strings. */
interface KeptStrings {
  strings: SentStrings | undefined
}
const keptStrings = new WeakMap<object, KeptStrings>()

/** The long strings of the body that had `member`. Its own text is forgotten too. */
export const takeStrings = (member: unknown): SentStrings | undefined => {
  if (typeof member !== "object" || member === null) return undefined
  texts.delete(member)
  const kept = keptStrings.get(member)
  const strings = kept?.strings
  if (kept !== undefined) kept.strings = undefined
  return strings
}

/**
 * Makes the long strings of the body that had `member` known by what `member` was translated to.
 */
export const passStrings = (member: unknown, translated: object): void => {
  const kept = typeof member === "object" && member !== null ? keptStrings.get(member) : undefined
  if (kept !== undefined) keptStrings.set(translated, kept)
}

/** What is known of a body's text. */
export interface SentBody {
  readonly bytes: Buffer
  readonly shape: JsonShape
}

/** It takes a millisecond to compare more values. */
const MOST_VALUES = 20_000

/**
 * Keeps the texts of the long members of `decoded` and of the strings in the body, and the lengths
 * of the members and of `decoded` itself. `parsed`: what `JSON.parse` made of the body. `isPlain`:
 * whether decoding leaves a member as it is.
 */
export const keepTexts = (
  { bytes, shape }: SentBody,
  parsed: unknown,
  decoded: unknown,
  isPlain: (name: string) => boolean
): void => {
  if (!isMembers(parsed) || !isMembers(decoded) || Object.keys(parsed).length !== shape.members) return
  if (!shape.hasExponent) lengths.set(decoded, bytes.length)
  if (shape.values > MOST_VALUES) return
  const strings = new SentStrings(bytes)
  const walk = new Walk(parsed, shape.longStrings, strings)
  const isKnown = walk.isInOrder && walk.strings === shape.strings && !strings.isEmpty
  const kept: KeptStrings | null = isKnown ? { strings } : null
  for (const { from, marks, nameFrom, nameTo, to } of shape.longMembers) {
    const name = bytes.toString("utf8", nameFrom, nameTo)
    if (!isPlain(name)) continue
    const value = decoded[name]
    if (typeof value !== "object" || value === null) continue
    if (kept !== null) keptStrings.set(value, kept)
    if (walk.marksOf.get(name) !== marks) continue
    texts.set(value, bytes.subarray(from, to))
    if (!shape.hasExponent) lengths.set(value, to - from)
  }
}

const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const ZERO = 0x30
const NINE = 0x39

/**
 * Goes through a parsed body in the order of its text, and finds the values of its long strings.
 */
class Walk {
  /**
   * By the name of a member: the commas and opening brackets that its text has if no name is
   * repeated.
   */
  readonly marksOf = new Map<string, number>()
  /** Strings and names. */
  strings = 0
  /**
   * False: an object puts names that are numbers before its others, whatever their order in the
   * text.
   */
  isInOrder = true
  #marks = 0
  #next = 0
  readonly #longStrings: ReadonlyArray<LongString>
  readonly #found: SentStrings

  constructor(parsed: Readonly<Record<string, unknown>>, longStrings: ReadonlyArray<LongString>, found: SentStrings) {
    this.#longStrings = longStrings
    this.#found = found
    for (const name in parsed) {
      const before = this.#marks
      this.#name(name)
      this.#visit(parsed[name])
      this.marksOf.set(name, this.#marks - before)
    }
  }

  #visit(value: unknown): void {
    if (typeof value === "string") return this.#string(value)
    if (typeof value !== "object" || value === null) return
    let parts = 0
    if (Array.isArray(value)) {
      parts = value.length
      for (const part of value) this.#visit(part)
    } else
      for (const name in value) {
        parts++
        this.#name(name)
        this.#visit(Reflect.get(value, name))
      }
    this.#marks += Math.max(1, parts)
  }

  #name(name: string): void {
    this.strings++
    const first = name.charCodeAt(0)
    if (first >= ZERO && first <= NINE) this.isInOrder = false
  }

  #string(value: string): void {
    this.strings++
    // A name may be long too.
    while ((this.#longStrings[this.#next]?.at ?? Infinity) < this.strings) this.#next++
    const long = this.#longStrings[this.#next]
    if (long?.at === this.strings) this.#found.add(value, long)
  }
}
