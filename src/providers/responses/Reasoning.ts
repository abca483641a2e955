/**
 * Reasoning items and `reasoning_details` (wire/Thoughts.ts), in both directions: a detail for each
 * text of a summary, and one for the encrypted reasoning, which only the provider that made it can
 * read. Details of one item share its `id`; `index` numbers them in an answer, so that the pieces
 * of a streamed one can be joined.
 */
import { type ChatMessage } from "../../domain/Chat.ts"
import { stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { ownThoughts } from "../wire/Thoughts.ts"

export const FORMAT = "openai-responses-v1"

/** Between two texts of reasoning. */
export const SEPARATOR = "\n\n"

type Thought = { readonly summary: string } | { readonly text: string }
type Content = Thought | { readonly data: string }

/** One detail. `maker`: the provider's slug. `id`: null if the provider gave the item none. */
export const detailOf = (content: Content, maker: string, id: string | null, index: number): JsonRecord => ({
  type: "summary" in content ? "reasoning.summary" : "text" in content ? "reasoning.text" : "reasoning.encrypted",
  ...content,
  ...(id === null ? {} : { id }),
  format: FORMAT,
  provider: maker,
  index
})

/** The texts of a reasoning item: those of its summary, and those of open models. */
export const thoughtsOf = ({ content, summary }: JsonRecord): ReadonlyArray<Thought> => [
  ...textsOf(summary).map((text) => ({ summary: text })),
  ...textsOf(content).map((text) => ({ text }))
]

const textsOf = (parts: unknown): ReadonlyArray<string> =>
  jsonRecordsOf(parts).flatMap(({ text }) => stringOf(text) || [])

/** The encrypted reasoning of an item, or null. */
export const encryptedOf = (item: JsonRecord): string | null => stringOf(item["encrypted_content"]) || null

/** The items to send back: encrypted reasoning that `maker` made, with its summary. */
export const reasoningItems = (message: ChatMessage, maker: string): ReadonlyArray<JsonRecord> => {
  const details = ownThoughts(message, { format: FORMAT, provider: maker })
  return details.flatMap(({ data, id, type }) => {
    if (type !== "reasoning.encrypted" || typeof data !== "string") return []
    const summary = details.flatMap((other) =>
      typeof other["summary"] === "string" && typeof id === "string" && other["id"] === id
        ? [{ type: "summary_text", text: other["summary"] }]
        : []
    )
    return [{ type: "reasoning", summary, encrypted_content: data }]
  })
}
