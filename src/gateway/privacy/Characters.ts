/**
 * Where words begin and end, for recognisers. Only ASCII letters, digits and `_` make a word: a number amid Chinese text stands
 * alone. The letter of an escape (`\n` in JSON or code that was pasted as text) belongs to no word.
 */

export const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** NaN, which `charCodeAt` answers beyond the text, is none. */
export const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

export const isWord = (code: number): boolean => isDigit(code) || isLetter(code) || code === 95

const BACKSLASH = 92
// n, r, t
const escapes = new Set([110, 114, 116])

/** Whether the character at `at` is the letter of `\n`, `\r` or `\t`. */
export const isEscape = (text: string, at: number): boolean =>
  escapes.has(text.charCodeAt(at)) && text.charCodeAt(at - 1) === BACKSLASH

/** Whether no word reaches up to `start` from before it. */
export const beginsWord = (text: string, start: number): boolean =>
  !isWord(text.charCodeAt(start - 1)) || isEscape(text, start - 1)

/** Whether no word goes on at `end`. */
export const endsWord = (text: string, end: number): boolean => !isWord(text.charCodeAt(end))
