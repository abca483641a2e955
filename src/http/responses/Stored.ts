/** Stored responses as this API shows them. */
import { type Members } from "../../domain/Chat.ts"

export interface ItemsQuery {
  readonly limit: number
  readonly order: "asc" | "desc"
  /** The id of the last item of the previous page. */
  readonly after?: string
}

/** A page of items. Null: there is no item `after`. */
export const itemsPage = (items: ReadonlyArray<Members>, { after, limit, order }: ItemsQuery) => {
  const ordered = order === "asc" ? items : items.toReversed()
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && from === 0) return null
  const data = ordered.slice(from, from + limit)
  return {
    object: "list" as const,
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: from + limit < ordered.length
  }
}

const idOf = (item: Members | undefined): string | null => (typeof item?.["id"] === "string" ? item["id"] : null)

/**
 * Items as the vendor's types want them: each with an id, and messages with a list of parts. An
 * item without an id gets one of the response's id and its place.
 */
export const shownItems = (items: ReadonlyArray<Members>, responseId: string): ReadonlyArray<Members> =>
  items.map((item, at) => shownItem(item, `${responseId.slice(responseId.indexOf("_") + 1)}i${at}`))

const shownItem = (item: Members, suffix: string): Members => {
  const type = typeof item["type"] === "string" ? item["type"] : "message"
  const named = { ...item, type, id: idOf(item) ?? `${prefixes[type] ?? "item"}_${suffix}` }
  if (type !== "message") return named
  const content = item["content"]
  const kind = item["role"] === "assistant" ? "output_text" : "input_text"
  return { ...named, status: item["status"] ?? "completed", content: partsOf(content, kind) }
}

const partsOf = (content: unknown, type: string): ReadonlyArray<unknown> => {
  if (typeof content !== "string") return Array.isArray(content) ? content : []
  return [type === "output_text" ? { type, text: content, annotations: [], logprobs: [] } : { type, text: content }]
}

const prefixes: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco"
}
