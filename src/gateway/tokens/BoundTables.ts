/**
 * The tables of the bound of tokens, unpacked: common words, characters that are tokens, and pairs
 * of ASCII characters that are.
 */
import { asciiPairs, commonCharacters } from "./CommonCharacters.ts"
import { commonLowerWords, commonWords } from "./CommonWords.ts"

const pairs = Buffer.from(asciiPairs, "base64")

/**
 * Blocks of 64 characters whose first bytes are part of a token that begins inside the character
 * before, with the last six bits of that character. Such a token adds one.
 */
export const straddled = new Map<number, ReadonlyArray<number>>([
  [0x15, [0x21]],
  [0x30, [0x02]],
  [0x38, [0x00]],
  [0x43, [0x20, 0x23]],
  [0x5e, [0x1a]],
  [0x3fd, [0x01]]
])

/** The characters beyond ASCII that are one token, by code: 0 is none of them. */
export const characterTokens = new Uint8Array(0x20000)
export const STRADDLED = 2
{
  let at = 0
  for (const range of commonCharacters.trim().split(/\s/)) {
    const [distance = "", length = "1"] = range.split(".")
    at += parseInt(distance, 36)
    characterTokens.fill(1, at, (at += parseInt(length, 36)))
  }
  for (let code = 0; code < characterTokens.length; code++)
    if (characterTokens[code] === 1 && straddled.has(code >> 6)) characterTokens[code] = STRADDLED
}

/**
 * A hash table of the common words, each as five bits a letter: six letters in the first number,
 * six in the second, and a flag if the word is common in lower case only.
 */
export const LETTERS_OF_NUMBER = 6
export const LONGEST_WORD = 2 * LETTERS_OF_NUMBER
const LOWER_ONLY = 1 << 30
const SLOT_BITS = 14
const slots = new Int32Array(2 << SLOT_BITS)
const slotOf = (first: number, second: number): number =>
  Math.imul(first ^ Math.imul(second, 0x9e3779b1), 0x85ebca6b) >>> (32 - SLOT_BITS)
const nextSlot = (slot: number): number => (slot + 1) & ((1 << SLOT_BITS) - 1)

const addWords = (list: string, flag: number): void => {
  for (const word of list.trim().split(/\s/)) {
    if (word.length > LONGEST_WORD) continue
    let [first, second] = [0, 0]
    for (let at = 0; at < word.length; at++) {
      if (at < LETTERS_OF_NUMBER) first = (first << 5) | (word.charCodeAt(at) & 31)
      else second = (second << 5) | (word.charCodeAt(at) & 31)
    }
    let slot = slotOf(first, second)
    while (slots[2 * slot] !== 0) slot = nextSlot(slot)
    slots[2 * slot] = first
    slots[2 * slot + 1] = second | flag
  }
}
addWords(commonWords, 0)
addWords(commonLowerWords, LOWER_ONLY)

/** `first` and `second`: the word's letters. */
export const isCommon = (first: number, second: number, isCapital: boolean): boolean => {
  for (let slot = slotOf(first, second); ; slot = nextSlot(slot)) {
    const found = slots[2 * slot] ?? 0
    if (found === 0) return false
    const rest = slots[2 * slot + 1] ?? 0
    if (found === first && (rest & ~LOWER_ONLY) === second) return !isCapital || (rest & LOWER_ONLY) === 0
  }
}

/** Whether two ASCII characters are one token. */
export const isPair = (first: number, second: number): boolean => {
  const pair = 128 * first + second
  return (((pairs[pair >> 3] ?? 0) >> (pair & 7)) & 1) === 1
}
