/**
 * Reasoning that a provider signed or encrypted, in OpenRouter's form `reasoning_details`. A client
 * sends it back with the message, so that the model continues from it. Each detail names the
 * provider that made it, because others reject its signature.
 */
import { isJsonRecord, type JsonRecord, jsonRecordsOf } from "./Json.ts"

/**
 * The marks of a provider in the details that it made. `format` is OpenRouter's name of the form.
 */
export interface ThoughtMaker {
  readonly format: string
  readonly provider: string
}

/** The format of a form without a name. Such details are told apart by their provider alone. */
export const UNNAMED_FORMAT = "unknown"

/** A piece of reasoning. Pieces with the same `index` are one text. */
export const thoughtPiece = (index: number, text: string): JsonRecord => ({ type: "reasoning.text", text, index })

/** The signature of the text with the same `index`. */
export const thoughtSignature = (maker: ThoughtMaker, index: number, signature: string): JsonRecord => ({
  type: "reasoning.text",
  signature,
  ...maker,
  index
})

/** A whole text. `signature`: null if it has none. */
export const thoughtText = (maker: ThoughtMaker, index: number, text: string, signature: string | null): JsonRecord =>
  signature === null ? thoughtPiece(index, text) : { ...thoughtSignature(maker, index, signature), text }

/** Reasoning that only its maker can read. */
export const encryptedThought = (maker: ThoughtMaker, index: number, data: string): JsonRecord => ({
  type: "reasoning.encrypted",
  data,
  ...maker,
  index
})

/**
 * The details of a message that `maker` made. Clients may drop members that they do not know, so a
 * detail without a provider belongs to the makers of its format.
 */
export const ownThoughts = (
  message: Readonly<Record<string, unknown>>,
  maker: ThoughtMaker
): ReadonlyArray<JsonRecord> =>
  jsonRecordsOf(message["reasoning_details"]).filter(({ format, provider }) =>
    typeof provider === "string"
      ? provider === maker.provider
      : maker.format !== UNNAMED_FORMAT && (format ?? maker.format) === maker.format
  )

/** The members of a message for its thoughts. Unsigned thoughts alone need no details. */
export const thoughtMembers = (thoughts: ReadonlyArray<JsonRecord>) => {
  const reasoning = thoughts.map(({ text }) => (typeof text === "string" ? text : "")).join("")
  const isSigned = thoughts.some((thought) => "signature" in thought || "data" in thought)
  return {
    ...(reasoning === "" ? {} : { reasoning }),
    ...(isSigned ? { reasoning_details: thoughts } : {})
  }
}

/** A block and its place among all blocks of the reply. */
export interface PlacedBlock {
  readonly at: unknown
  readonly block: JsonRecord
}

/**
 * The blocks of a turn: its thoughts between its texts, at the places that they had in the reply,
 * then its calls. The thoughts come first if the texts are no longer the reply's.
 */
export const withThoughts = (
  thoughts: ReadonlyArray<PlacedBlock>,
  texts: ReadonlyArray<JsonRecord>,
  calls: ReadonlyArray<JsonRecord>
): ReadonlyArray<JsonRecord> => {
  // A provider rejects a turn of thoughts alone.
  if (thoughts.length === 0 || texts.length + calls.length === 0) return [...texts, ...calls]
  const count = thoughts.length + texts.length
  const places = new Map(thoughts.map(({ at, block }) => [at, block]))
  const rest = texts.values()
  const placed = Array.from({ length: count }, (_, at) => places.get(at) ?? rest.next().value).filter(isJsonRecord)
  const isWhole = placed.length === count && thoughts.every(({ block }) => placed.includes(block))
  // A turn must not end with a thought either.
  const isEnded = calls.length > 0 || !places.has(count - 1)
  return [...(isWhole && isEnded ? placed : [...thoughts.map(({ block }) => block), ...texts]), ...calls]
}
