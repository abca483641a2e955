/**
 * The sources of a text. The message's `citations` are the provider's own, each with the part of
 * `content` that it supports. Those with an address are `annotations` too, in OpenAI's form.
 */
import { type JsonRecord } from "./Json.ts"

/** Most sources of one text. More are not passed on. */
export const MOST_SOURCES = 512

export interface Source {
  /** In the provider's form. */
  readonly citation: JsonRecord
  readonly url: string | null
  readonly title: string | null
}

export interface CitedMembers {
  readonly citations?: ReadonlyArray<JsonRecord>
  readonly annotations?: ReadonlyArray<JsonRecord>
}

/** Members of a message or delta. `start` and `end` count `content` in UTF-16 code units. */
export const citedMembers = (sources: ReadonlyArray<Source>, start: number, end: number): CitedMembers => {
  if (sources.length === 0) return {}
  const part = { start_index: start, end_index: end }
  const annotations = sources.flatMap(({ title, url }) =>
    url === null ? [] : [{ type: "url_citation", url_citation: { ...part, url, title: title ?? url } }]
  )
  return {
    citations: sources.map(({ citation }) => ({ ...citation, ...part })),
    ...(annotations.length === 0 ? {} : { annotations })
  }
}

/** The members of several parts of one message. */
export const joinCited = (parts: ReadonlyArray<CitedMembers>): CitedMembers => {
  const citations = parts.flatMap((part) => part.citations ?? [])
  const annotations = parts.flatMap((part) => part.annotations ?? [])
  return {
    ...(citations.length === 0 ? {} : { citations }),
    ...(annotations.length === 0 ? {} : { annotations })
  }
}
