/**
 * The JSON of a call's body. Members and long strings that are as the client sent them go in the
 * client's own text.
 */
import { isRawNumber } from "../../domain/json/Json.ts"
import { type SentStrings, takeStrings, takeText } from "../../domain/json/SentText.ts"
import { type CallBody } from "../transport/Transport.ts"
import { type JsonRecord } from "./Json.ts"

/**
 * As `JSON.stringify`, in the client's text where it is known. `conversation`: the messages that
 * became `members`.
 */
export const sentJson = (members: JsonRecord, conversation?: unknown): CallBody => {
  const texts = textsIn(members)
  const strings = takeStrings(conversation)
  if (texts === null && strings === undefined) return JSON.stringify(members)
  const json = new Pieces(strings)
  for (const name of Object.keys(members)) {
    const value = members[name]
    if (value !== undefined) json.member(name, value, texts?.get(name))
  }
  return json.end()
}

/** The texts of members, by name; null: none has one. */
const textsIn = (members: JsonRecord): ReadonlyMap<string, Buffer> | null => {
  let texts: Map<string, Buffer> | null = null
  for (const name in members) {
    const own = takeText(members[name])
    if (own !== undefined) texts = (texts ?? new Map<string, Buffer>()).set(name, own)
  }
  return texts
}

/** The JSON of an object, written member by member. */
class Pieces {
  readonly #strings: SentStrings | undefined
  readonly #pieces: Array<Buffer> = []
  #text = "{"
  #separator = ""

  constructor(strings: SentStrings | undefined) {
    this.#strings = strings
  }

  member(name: string, value: unknown, text: Buffer | undefined): void {
    this.#text += `${this.#separator}${JSON.stringify(name)}:`
    this.#separator = ","
    if (text !== undefined) this.#add(text)
    else if (!Array.isArray(value)) this.#writeWhole(value)
    else this.#writeList(value, (entry) => this.#writeWhole(entry))
  }

  end(): Buffer {
    return Buffer.concat([...this.#pieces, Buffer.from(`${this.#text}}`)])
  }

  #add(text: Buffer): void {
    this.#pieces.push(Buffer.from(this.#text), text)
    this.#text = ""
  }

  /** `JSON.stringify` is faster for a value without a string that the client may have sent. */
  #writeWhole(value: unknown): void {
    if (this.#strings !== undefined && mayHave(this.#strings, value)) this.#write(value)
    else this.#text += JSON.stringify(value) ?? "null"
  }

  #write(value: unknown): void {
    if (typeof value === "string") this.#writeString(value)
    else if (typeof value !== "object" || value === null || isRawNumber(value))
      this.#text += JSON.stringify(value) ?? "null"
    else if (Array.isArray(value)) this.#writeList(value, (entry) => this.#write(entry))
    else {
      let separator = "{"
      for (const name of Object.keys(value)) {
        const member: unknown = Reflect.get(value, name)
        if (member === undefined) continue
        this.#text += `${separator}${JSON.stringify(name)}:`
        separator = ","
        this.#write(member)
      }
      this.#text += separator === "{" ? "{}" : "}"
    }
  }

  #writeList(values: ReadonlyArray<unknown>, write: (value: unknown) => void): void {
    this.#text += "["
    for (const [at, value] of values.entries()) {
      if (at > 0) this.#text += ","
      write(value)
    }
    this.#text += "]"
  }

  #writeString(value: string): void {
    const text = this.#strings?.textOf(value)
    if (text === undefined) this.#text += JSON.stringify(value)
    else this.#add(text)
  }
}

const mayHave = (strings: SentStrings, value: unknown): boolean => {
  if (typeof value === "string") return strings.mayHave(value)
  if (typeof value !== "object" || value === null) return false
  const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
  return parts.some((part) => mayHave(strings, part))
}

/** `values` where they are the entries of `list`, or `list`, so that it keeps its text. */
export const sameList = <A>(list: ReadonlyArray<A>, values: ReadonlyArray<A>): ReadonlyArray<A> =>
  values.length === list.length && values.every((value, at) => value === list[at]) ? list : values
