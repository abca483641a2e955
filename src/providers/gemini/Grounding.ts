/**
 * The sources of an answer that rests on Google's search. The message has the vendor's own object
 * (`grounding_metadata`), and an annotation for each supported part of the content and each
 * address.
 */
import { isJsonRecord, type JsonRecord, jsonRecordsOf, stringOf } from "../wire/Json.ts"

/** Most parts that are annotated. */
const MOST_SUPPORTS = 512

/** `content`: null if it is too long for annotations. */
export const groundingMembers = (grounding: unknown, content: string | null): JsonRecord => {
  if (!isJsonRecord(grounding) || Object.keys(grounding).length === 0) return {}
  if (content === null) return { grounding_metadata: grounding }
  const chunks = Array.isArray(grounding["groundingChunks"]) ? grounding["groundingChunks"] : []
  const indexOf = utf16Index(content)
  const annotations = jsonRecordsOf(grounding["groundingSupports"])
    .slice(0, MOST_SUPPORTS)
    .flatMap(({ groundingChunkIndices: indices, segment }) => {
      if (!isJsonRecord(segment) || !Array.isArray(indices)) return []
      const part = { start_index: indexOf(segment["startIndex"]), end_index: indexOf(segment["endIndex"]) }
      return indices.flatMap((index: unknown) => {
        const chunk: unknown = typeof index === "number" ? chunks[index] : undefined
        const web = isJsonRecord(chunk) ? chunk["web"] : undefined
        const url = isJsonRecord(web) ? stringOf(web["uri"]) : null
        if (url === null) return []
        const title = isJsonRecord(web) ? stringOf(web["title"]) : null
        return [{ type: "url_citation", url_citation: { ...part, url, title: title ?? url } }]
      })
    })
  return { ...(annotations.length === 0 ? {} : { annotations }), grounding_metadata: grounding }
}

/** Google counts bytes of UTF-8. A missing start is 0. */
const utf16Index = (content: string): ((bytes: unknown) => number) => {
  const encoded = Buffer.from(content, "utf8")
  let last = { bytes: 0, units: 0 }
  return (bytes) => {
    const to = typeof bytes === "number" ? Math.min(Math.max(0, bytes), encoded.length) : 0
    const from = to >= last.bytes ? last : { bytes: 0, units: 0 }
    last = { bytes: to, units: from.units + encoded.toString("utf8", from.bytes, to).length }
    return last.units
  }
}
