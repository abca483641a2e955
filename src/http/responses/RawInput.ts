/**
 * Reads the input of a custom tool from the arguments of the function that stands for it,
 * `{"input": "..."}`, as they arrive. Arguments of another form are read at their end: the only
 * text among their members, or all of them as they are.
 */
import { Predicate } from "effect"
import { parseJson } from "../../domain/json/Json.ts"

/** Everything up to the first character of the text. */
const beginning = /^\s*\{\s*"input"\s*:\s*"/
const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

/** Longer arguments that do not begin as expected are read at their end. */
const LONGEST_BEGINNING = 1_024

export class RawInput {
  #arguments = ""
  /** What was read of the text. */
  #text = ""
  /** Arguments whose characters are not read yet; null: the text has not begun. */
  #rest: string | null = null
  #isEnded = false

  /** The next piece of the text. */
  add(piece: string): string {
    this.#arguments += piece
    if (this.#isEnded) return ""
    if (this.#rest === null) {
      const found = this.#arguments.length > LONGEST_BEGINNING + piece.length ? null : beginning.exec(this.#arguments)
      if (found === null) return ""
      this.#rest = this.#arguments.slice(found[0].length)
    } else this.#rest += piece
    return this.#read()
  }

  /** The rest of the text, once the arguments are whole. */
  end(): string {
    const whole = inputIn(this.#arguments)
    return whole.startsWith(this.#text) ? whole.slice(this.#text.length) : ""
  }

  #read(): string {
    let text = ""
    let rest = this.#rest ?? ""
    let at = 0
    for (; at < rest.length; at++) {
      const character = rest[at] ?? ""
      if (character === '"') {
        this.#isEnded = true
        break
      }
      if (character !== "\\") {
        text += character
        continue
      }
      const name = rest[at + 1]
      const digits = name === "u" ? rest.slice(at + 2, at + 6) : ""
      if (name === undefined || (name === "u" && digits.length < 4)) break
      text += name === "u" ? String.fromCharCode(parseInt(digits, 16)) : (escapes[name] ?? name)
      at += 1 + digits.length
    }
    rest = rest.slice(at)
    // Half a character would not survive the encoding of its own event.
    const half = /[\ud800-\udbff]$/.exec(text)
    if (half !== null && !this.#isEnded) {
      text = text.slice(0, -1)
      rest = `\\u${half[0].charCodeAt(0).toString(16)}${rest}`
    }
    this.#rest = rest
    this.#text += text
    return text
  }
}

const inputIn = (given: string): string => {
  const parsed = parseJson(given)
  if (!Predicate.isObject(parsed)) return given
  const members: ReadonlyArray<unknown> = Object.values(parsed)
  const input = "input" in parsed ? parsed["input"] : members.length === 1 ? members[0] : undefined
  return typeof input === "string" ? input : given
}
