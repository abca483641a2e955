/**
 * The text of long lists and objects as their client wrote it, so that a provider gets them without
 * a copy that is written anew. A value has a text only if the text means what the value is: a text
 * that repeats a name, which readers understand in different ways, has none. A changed value is
 * another object, so it has none either.
 *
 * The text is given once and then forgotten, so that a request does not keep its body while it is
 * answered. The value is written anew for a further call. The length of the text stays known.
 */
import { type LongMember } from "./JsonShape.ts"

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

/** What is known of a body's text. */
export interface SentBody {
  readonly bytes: Buffer
  readonly longMembers: ReadonlyArray<LongMember>
  /** The number of members of the outermost object, with those whose name comes again. */
  readonly members: number
  /** A number has an exponent: written anew, it may be longer. */
  readonly hasExponent: boolean
}

/** More commas and brackets take a millisecond to compare. */
const MOST_MARKS = 20_000

/**
 * Keeps the texts of the long members of `decoded`, and their lengths and its own. `parsed`: what
 * `JSON.parse` made of the body. `isPlain`: whether decoding leaves a member as it is.
 */
export const keepTexts = (
  { bytes, hasExponent, longMembers, members }: SentBody,
  parsed: unknown,
  decoded: unknown,
  isPlain: (name: string) => boolean
): void => {
  if (!isMembers(parsed) || !isMembers(decoded) || Object.keys(parsed).length !== members) return
  if (!hasExponent) lengths.set(decoded, bytes.length)
  for (const { from, marks, nameFrom, nameTo, to } of longMembers) {
    const name = bytes.toString("utf8", nameFrom, nameTo)
    if (marks > MOST_MARKS || !isPlain(name)) continue
    const value = decoded[name]
    if (typeof value !== "object" || value === null || marksOf(parsed[name]) !== marks) continue
    texts.set(value, bytes.subarray(from, to))
    if (!hasExponent) lengths.set(value, to - from)
  }
}

const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The commas and opening brackets of a value's text, which has more if it repeats a name. */
const marksOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  let parts = 0
  let marks = 0
  if (Array.isArray(value)) {
    parts = value.length
    for (const part of value) marks += marksOf(part)
  } else
    for (const name in value) {
      parts++
      marks += marksOf(Reflect.get(value, name))
    }
  return marks + Math.max(1, parts)
}
