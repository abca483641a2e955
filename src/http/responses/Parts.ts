/**
 * Content of the Responses API as content parts of a chat completion. Empty texts are left out:
 * providers refuse them. A part that chat completions lack becomes the text of its JSON, which is
 * counted and searched, and needs a provider of this API.
 */
import { type Members } from "../../domain/Chat.ts"
import { blocksIn, kindOf, membersOf, textOf } from "../messages/Blocks.ts"
import { type Notes } from "./Notes.ts"

/** The parts of a content: a text, or a list of parts. */
export const partsOf = (content: unknown, place: string, notes: Notes): ReadonlyArray<Members> =>
  typeof content === "string"
    ? textPart(content)
    : blocksIn(content).flatMap((part, at) => partOf(part, `${place}.${at}`, notes))

export const textPart = (text: string): ReadonlyArray<Members> => (text === "" ? [] : [{ type: "text", text }])

/** The text of a member that is not translated. */
export const foreign = (value: Members, what: string, place: string, notes: Notes): ReadonlyArray<Members> => {
  notes.need(place, what)
  notes.search(value, place)
  return [{ type: "text", text: JSON.stringify(value, withoutBytes) }]
}

/** Sealed and encoded bytes are neither text nor tokens. */
const withoutBytes = (name: string, value: unknown): unknown =>
  typeof value === "string" && (name === "encrypted_content" || value.startsWith("data:") || isEncoded(value))
    ? undefined
    : value

/** A shorter word may be a name. */
const SHORTEST_BYTES = 512
const isEncoded = (value: string): boolean => value.length >= SHORTEST_BYTES && /^[\w+/=-]+$/.test(value)

export const partOf = (part: Members, place: string, notes: Notes): ReadonlyArray<Members> => {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
    case "summary_text":
    case "reasoning_text":
      return textPart(textOf(part["text"]))
    case "refusal":
      return textPart(textOf(part["refusal"]))
    case "input_image":
    case "computer_screenshot":
      return imageOf(part, place, notes)
    case "input_file":
      return fileOf(part, place, notes)
    case "input_audio":
      return part["input_audio"] === undefined
        ? foreign(part, "audio by its address", place, notes)
        : [{ type: "input_audio", input_audio: part["input_audio"] }]
    default:
      return foreign(part, `a part of type ${kindOf(part)}`, place, notes)
  }
}

const imageOf = (part: Members, place: string, notes: Notes): ReadonlyArray<Members> => {
  const { detail, image_url } = part
  if (typeof image_url !== "string") return foreign(part, "a picture that is stored at the vendor", place, notes)
  return [{ type: "image_url", image_url: { url: image_url, ...(typeof detail === "string" ? { detail } : {}) } }]
}

const fileOf = (part: Members, place: string, notes: Notes): ReadonlyArray<Members> => {
  const { file_data, file_id, file_url, filename } = part
  const name = typeof filename === "string" ? { filename } : {}
  if (typeof file_id === "string" && file_id !== "") {
    notes.refer(`${place}.file_id`)
    return [{ type: "file", file: { file_id } }]
  }
  const data = textOf(file_data) || textOf(file_url)
  return data === ""
    ? foreign(part, "a file without file_data, file_url and file_id", place, notes)
    : [{ type: "file", file: { ...name, file_data: data } }]
}

/** A call's arguments as the text that chat completions have. */
export const argumentsOf = (given: unknown): string =>
  typeof given === "string" ? given : JSON.stringify(membersOf(given))
