/**
 * The JSON of a call's body. Members that are as the client sent them go in the client's own text.
 */
import { takeText } from "../../domain/json/SentText.ts"
import { type CallBody } from "../transport/Transport.ts"
import { type JsonRecord } from "./Json.ts"

/** As `JSON.stringify`, in the client's text where it is known. */
export const sentJson = (members: JsonRecord): CallBody => {
  const texts = textsIn(members)
  if (texts === null) return JSON.stringify(members)
  const pieces: Array<Buffer> = []
  let text = "{"
  let separator = ""
  for (const name of Object.keys(members)) {
    const value = members[name]
    if (value === undefined) continue
    text += `${separator}${JSON.stringify(name)}:`
    separator = ","
    const own = texts.get(name)
    if (own === undefined) text += JSON.stringify(value)
    else {
      pieces.push(Buffer.from(text), own)
      text = ""
    }
  }
  return Buffer.concat([...pieces, Buffer.from(`${text}}`)])
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

/** `values` where they are the entries of `list`, or `list`, so that it keeps its text. */
export const sameList = <A>(list: ReadonlyArray<A>, values: ReadonlyArray<A>): ReadonlyArray<A> =>
  values.length === list.length && values.every((value, at) => value === list[at]) ? list : values
