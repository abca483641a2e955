/**
 * An upper bound of a text's tokens, from one pass over its characters: never below the count by
 * `o200k_base`, of the whole text or of the slices in which the gateway counts.
 *
 * The pass finds the pieces that the encoding cuts a text into. A piece that is a common word is
 * one token. In any other, two tokens stand side by side only if both together are no token. So at
 * most two of three characters of ASCII are tokens of their own, plus one for each pair of
 * characters that is none. Beyond ASCII, a character that is a token counts one, and any other its
 * bytes.
 */
import {
  characterTokens,
  isCommon,
  isPair,
  LETTERS_OF_NUMBER,
  LONGEST_WORD,
  STRADDLED,
  straddled
} from "./BoundTables.ts"
import { LETTERS, SLICE_CHARACTERS } from "./Tokens.ts"

/** Classes of ASCII characters. */
const LOWER = 0
const UPPER = 1
const DIGIT = 2
const BLANK = 3
const NEWLINE = 4
const SIGN = 5

const SPACE = 32
const TAB = 9
const APOSTROPHE = 39
const SLASH = 47

const classOf = (code: number): number => {
  if (code >= 97 && code <= 122) return LOWER
  if (code >= 65 && code <= 90) return UPPER
  if (code >= 48 && code <= 57) return DIGIT
  if (code === 10 || code === 13) return NEWLINE
  return code === SPACE || code === TAB || code === 11 || code === 12 ? BLANK : SIGN
}
const classes = Uint8Array.from({ length: 128 }, (_, code) => classOf(code))

/**
 * The codes of a text's characters. Reading them from strings takes nearly twice as long, because
 * strings have several forms in memory.
 */
type Codes = Uint16Array<ArrayBuffer>

/** A text that is as long has an array of its own. */
const CODES = 65_536
const shared: Codes = new Uint16Array(CODES)
const sharedBytes = Buffer.from(shared.buffer)

/** With a 0 behind the text, so that no code beyond the array is read. */
const codesOf = (text: string): Codes => {
  const isShort = text.length < CODES
  const codes = isShort ? shared : new Uint16Array(text.length + 1)
  ;(isShort ? sharedBytes : Buffer.from(codes.buffer)).write(text, "utf16le")
  codes[text.length] = 0
  return codes
}

/** The most tokens of ASCII characters in one piece. */
const mostOfPiece = (text: Codes, from: number, to: number): number => {
  let most = Math.floor((2 * (to - from) + 1) / 3)
  for (let at = from + 1; at < to; at++) {
    if (!isPair(codeAt(text, at - 1), codeAt(text, at))) most++
  }
  return most
}

/** Runs of one blank or line break: tokens exist for every length up to twice this, less one. */
const SPACES = 32
const TABS = 8
const BREAKS = 5

const mostOfBlanks = (text: Codes, from: number, to: number): number => {
  const code = codeAt(text, from)
  for (let at = from + 1; at < to; at++) {
    if (codeAt(text, at) !== code) return mostOfPiece(text, from, to) + 1 + Math.floor((to - from) / 128)
  }
  const run = code === SPACE ? SPACES : code === TAB ? TABS : code === 10 ? BREAKS : 1
  return 1 + Math.floor((to - from) / run)
}

/** A slice or a long run may be cut inside a common word. */
const CUT_TOKENS = 10
/** A stretch without a space of this length may be cut elsewhere. */
const STRETCH_CHARACTERS = SLICE_CHARACTERS / 2 - 1
/** A run of signs of this length may be cut. */
const SIGNS = 32

/** 0 behind the end. */
const codeAt = (text: Codes, at: number): number => text[at] ?? 0

const isOf = (code: number, kind: number): boolean => code < 128 && classes[code] === kind
const isLetter = (code: number): boolean => ((code | 32) - 97) >>> 0 < 26

/** Blanks beyond ASCII are in one piece with the blanks after them. */
const isWideBlank = (code: number): boolean =>
  code === 0xa0 || code === 0x1680 || (code >= 0x2000 && code <= 0x205f) || code === 0x3000 || code === 0xfeff

export interface TokenBound {
  /** At least the tokens of the text. */
  readonly most: number
  /** An estimate of them. */
  readonly likely: number
}

export const boundOf = (text: string): TokenBound => new Pass(text).bound()

/** The part of the bound that is counted, of most texts and of scripts with long tokens. */
const COUNTED_SHARE = 0.65
const COUNTED_SHARE_OF_SHORT = 0.22

/** Scripts whose tokens have several characters: of two bytes, and those of India. */
const isShort = (code: number): boolean => code < 0x800 || (code >= 0x900 && code < 0xe00)

class Pass {
  readonly #text: Codes
  readonly #end: number
  #at = 0
  #most = 0
  /** The part of the bound that is of scripts with long tokens. */
  #short = 0
  /** Where the last run of spaces begins. */
  #spaceAt = 0
  /** The last run of letters and of characters beyond ASCII, and whether a common word is in it. */
  #runAt = 0
  #runEnd = 0
  #hasWord = false

  constructor(text: string) {
    this.#text = codesOf(text)
    this.#end = text.length
  }

  bound(): TokenBound {
    while (this.#at < this.#end) {
      const code = codeAt(this.#text, this.#at)
      const kind = code < 128 ? (classes[code] ?? SIGN) : -1
      if (kind < 0) this.#wide()
      else if (kind <= UPPER) this.#letters(0)
      else if (kind === DIGIT) this.#digits()
      else if (kind === SIGN) this.#signs(0)
      else this.#blanks()
    }
    this.#endStretch(this.#end)
    this.#endRun()
    const likely = (this.#most - this.#short) * COUNTED_SHARE + this.#short * COUNTED_SHARE_OF_SHORT
    return { most: this.#most, likely: Math.ceil(likely) }
  }

  /** Adds for the slices that cannot be cut at a space. */
  #endStretch(at: number): void {
    const length = at - this.#spaceAt
    if (length > STRETCH_CHARACTERS && this.#end > SLICE_CHARACTERS)
      this.#most += CUT_TOKENS * (1 + Math.floor(length / SLICE_CHARACTERS))
    this.#spaceAt = at
  }

  /** Adds for the cuts in a long run of letters. */
  #endRun(): void {
    const length = this.#runEnd - this.#runAt
    if (length > LETTERS) this.#most += (this.#hasWord ? CUT_TOKENS : 1) * (1 + Math.ceil(length / LETTERS))
    this.#runAt = this.#at
    this.#hasWord = false
  }

  /** A run of letters. `prefix`: 1 if the character before it belongs to its first piece. */
  #letters(prefix: number): void {
    const text = this.#text
    let at = this.#at
    if (this.#runEnd !== at) this.#endRun()
    let from = at - prefix
    const sign = prefix === 0 ? SPACE : codeAt(text, from)
    const before = from === 0 ? SPACE : codeAt(text, from - 1)
    // The suffix of a word, such as 's, may end in the middle of this run.
    let isPlain = before < 128 && !(sign === APOSTROPHE && isLetter(before))
    let tokens = sign === SPACE ? 1 : 2
    if (sign < SPACE && sign !== TAB) isPlain = false
    for (let isOver = false; !isOver;) {
      let first = 0
      let second = 0
      let length = 0
      let capitals = 0
      let code = codeAt(text, at)
      const isCapital = code < 97
      for (; isLetter(code); code = codeAt(text, ++at)) {
        if (code < 97) {
          if (length > capitals) break
          capitals++
        }
        if (length < LETTERS_OF_NUMBER) first = (first << 5) | (code & 31)
        else second = (second << 5) | (code & 31)
        length++
      }
      isOver = !isLetter(code)
      if (code >= 128) isPlain = false
      else if (code === APOSTROPHE && isLetter(codeAt(text, at + 1))) {
        isPlain = false
        this.#most += 3
      }
      if (isPlain && length <= LONGEST_WORD && capitals <= 1 && isCommon(first, second, isCapital)) {
        this.#most += tokens
        this.#hasWord = true
      } else this.#most += mostOfPiece(text, from, at)
      from = at
      tokens = 1
      isPlain = true
    }
    this.#at = at
    this.#runEnd = at
  }

  /** A run of blanks and line breaks. Its last blank belongs to what follows. */
  #blanks(): void {
    const text = this.#text
    let from = this.#at
    let broken = from
    let spaceAt = -1
    let at = from
    for (let before = 0; at < this.#end; at++) {
      const code = codeAt(text, at)
      if (isOf(code, NEWLINE)) broken = at + 1
      else if (!isOf(code, BLANK)) break
      if (code === SPACE && before !== SPACE) spaceAt = at
      before = code
    }
    this.#at = at
    if (spaceAt >= 0) this.#endStretch(spaceAt)
    if (broken > from) this.#most += mostOfBlanks(text, from, broken)
    from = broken
    if (at === this.#end) {
      if (from < at) this.#most += mostOfBlanks(text, from, at)
      return
    }
    if (from === at) return
    if (at - from > 1) this.#most += mostOfBlanks(text, from, at - 1)
    const next = codeAt(text, at)
    if (isLetter(next)) this.#letters(1)
    else if (isOf(next, SIGN) && codeAt(text, at - 1) === SPACE) this.#signs(1)
    else this.#most++
  }

  /** A run of signs. `prefix`: 1 if the space before it belongs to its piece. */
  #signs(prefix: number): void {
    const text = this.#text
    const from = this.#at - prefix
    let at = this.#at
    while (at < this.#end && isOf(codeAt(text, at), SIGN)) at++
    this.#at = at
    const before = from === 0 ? SPACE : codeAt(text, from - 1)
    if (at - from === 1 && isLetter(codeAt(text, at)) && before < 128) {
      // The slash may belong to the signs before the line break.
      if (codeAt(text, from) === SLASH && isOf(before, NEWLINE)) this.#most++
      return this.#letters(1)
    }
    if (at - from >= SIGNS) this.#most += 2 + Math.floor((at - from) / SIGNS)
    // Line breaks and slashes after signs belong to their piece.
    while (at < this.#end && (codeAt(text, at) === SLASH || isOf(codeAt(text, at), NEWLINE))) at++
    this.#at = at
    this.#most += mostOfPiece(text, from, at)
  }

  #digits(): void {
    const from = this.#at
    while (isOf(codeAt(this.#text, this.#at), DIGIT)) this.#at++
    this.#most += Math.ceil((this.#at - from) / 3)
  }

  /** A run of characters beyond ASCII. */
  #wide(): void {
    const text = this.#text
    let at = this.#at
    if (this.#runEnd !== at) this.#endRun()
    let code = codeAt(text, at)
    // A token may cross from ASCII. It leaves nothing of a space and a character of two bytes.
    if (at > 0 && !(codeAt(text, at - 1) === SPACE && code < 0x800 && code !== 0xa0)) this.#most++
    const before = this.#most
    const isOfShort = isShort(code)
    for (let last = 0; code >= 128; code = codeAt(text, at)) {
      const low = (code & 0xfc00) === 0xd800 ? codeAt(text, at + 1) : 0
      const point = (low & 0xfc00) === 0xdc00 ? 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff) : code
      const known = point < characterTokens.length ? (characterTokens[point] ?? 0) : 0
      if (known === 0) this.#most += point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
      else this.#most += known === STRADDLED && straddled.get(point >> 6)?.includes(last & 63) === true ? 2 : 1
      last = point
      at += point > 0xffff ? 2 : 1
    }
    if (isOfShort) this.#short += this.#most - before
    this.#at = at
    this.#runEnd = at
    if (at < this.#end && (code !== SPACE || isWideBlank(codeAt(text, at - 1)))) this.#most++
  }
}
