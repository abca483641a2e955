/**
 * Word boundaries for recognisers. A word consists of ASCII letters, digits and `_`, so a number in
 * the middle of Chinese text is a separate word. The letter of an escape sequence (`\n` in JSON or
 * code pasted as text) does not belong to a word.
 */

export const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** False for NaN, which `charCodeAt` returns beyond the text. */
export const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

export const isWord = (code: number): boolean => isDigit(code) || isLetter(code) || code === 95

const BACKSLASH = 92
// n, r, t
const escapes = new Set([110, 114, 116])

/** Whether the character at `at` is the letter of `\n`, `\r` or `\t`. */
export const isEscape = (text: string, at: number): boolean =>
  escapes.has(text.charCodeAt(at)) && text.charCodeAt(at - 1) === BACKSLASH

/** Whether a word can begin at `start`, because no word character precedes it. */
export const beginsWord = (text: string, start: number): boolean =>
  !isWord(text.charCodeAt(start - 1)) || isEscape(text, start - 1)

/** Whether a word can end at `end`, because no word character follows. */
export const endsWord = (text: string, end: number): boolean => !isWord(text.charCodeAt(end))
