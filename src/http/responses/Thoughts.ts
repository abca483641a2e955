/**
 * Reasoning items of the Responses API and the `reasoning_details` of a chat completion. An item's
 * `encrypted_content` carries a detail with the provider that made it, so that no other provider
 * gets it; its visible texts are its summary. Encrypted content of another origin is OpenAI's own:
 * its details are `native`, and go to providers of OpenAI's API alone.
 */
import { type Members } from "../../domain/Chat.ts"
import { blocksIn, membersOf, textOf } from "../messages/Blocks.ts"
import { carried, detailOf } from "../../domain/ThoughtCarrier.ts"
import { CALL_DETAIL, isCarried } from "../messages/Thoughts.ts"

/** OpenAI's own form of `reasoning_details`. */
const OPENAI = "openai-responses-v1"
const SEPARATOR = "\n\n"

/**
 * The `encrypted_content` of an item whose last detail is `detail`; null: it is its visible text
 * alone.
 */
export const encryptedContent = (detail: Members): string | null =>
  detail["type"] === "reasoning.encrypted" || detail["type"] === CALL_DETAIL || isCarried(detail)
    ? carried(detail)
    : null

/** What an item says. */
export interface ItemThoughts {
  /** Its visible text. */
  readonly reasoning: string
  /** Without `index`, which counts the details of a whole message. */
  readonly details: ReadonlyArray<Members>
  /** What a provider wants back with the call of this `id`. */
  readonly ofCall: { readonly id: unknown; readonly members: Members } | null
}

/** Reads an item that a client sends back. */
export const thoughtsOfItem = (item: Members): ItemThoughts => {
  const texts = [...blocksIn(item["summary"]), ...blocksIn(item["content"])]
    .map(({ text }) => textOf(text))
    .filter((text) => text !== "")
  const sealed = textOf(item["encrypted_content"])
  const detail = detailOf(sealed)
  const told = { reasoning: texts.join(SEPARATOR), ofCall: null }
  if (sealed === "") return { ...told, details: [] }
  if (detail === null) {
    const marks = { ...(typeof item["id"] === "string" ? { id: item["id"] } : {}), format: OPENAI, native: true }
    return { ...told, details: [...summaries(texts, marks), { type: "reasoning.encrypted", data: sealed, ...marks }] }
  }
  switch (detail["type"]) {
    case CALL_DETAIL:
      return { ...told, details: [], ofCall: { id: detail["id"], members: membersOf(detail["members"]) } }
    case "reasoning.encrypted": {
      const { data: _, type: __, ...marks } = detail
      return { ...told, details: [...summaries(texts, marks), detail] }
    }
    case "reasoning.summary":
      return { ...told, details: [{ ...detail, ...(texts.length === 0 ? {} : { summary: told.reasoning }) }] }
    default:
      return { ...told, details: [{ ...detail, ...(texts.length === 0 ? {} : { text: told.reasoning }) }] }
  }
}

const summaries = (texts: ReadonlyArray<string>, marks: Members): ReadonlyArray<Members> =>
  texts.map((summary) => ({ type: "reasoning.summary", summary, ...marks }))
