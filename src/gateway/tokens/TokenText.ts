/**
 * The texts that token ids stand for. Ids are read as `cl100k_base`, the encoding of OpenAI's
 * embedding models, in which OpenAI's clients encode for any model. The library's own decoder is
 * not used, because it keeps half characters for its next call.
 */
import { createRequire } from "node:module"
import { type EmbeddingRequest, inputsOf } from "../../domain/Embedding.ts"

const require = createRequire(import.meta.url)

type Ranks = ReadonlyArray<string | ReadonlyArray<number>>

let loaded: Ranks | null = null
const load = (): Ranks => {
  const { default: ranks }: { readonly default: Ranks } = require("gpt-tokenizer/cjs/bpeRanks/cl100k_base")
  return (loaded = ranks)
}

/** Null if an id is unknown. Bytes that are no whole character become U+FFFD. */
export const textOfTokens = (ids: ReadonlyArray<number>): string | null => {
  const ranks = loaded ?? load()
  let text = ""
  /** Of a character that several tokens make up. */
  let bytes: Array<number> = []
  for (const id of ids) {
    const piece = ranks[id]
    if (piece === undefined) return null
    if (typeof piece !== "string") {
      bytes.push(...piece)
      continue
    }
    if (bytes.length > 0) text += Buffer.from(bytes).toString("utf8")
    bytes = []
    text += piece
  }
  return text + Buffer.from(bytes).toString("utf8")
}

/** The request with texts for ids: the same if it has none, null if an id is unknown. */
export const withTexts = (request: EmbeddingRequest): EmbeddingRequest | null => {
  const inputs = inputsOf(request.input)
  if (inputs.every((input) => typeof input === "string")) return request
  const texts: Array<string> = []
  for (const input of inputs) {
    const text = typeof input === "string" ? input : textOfTokens(input)
    if (text === null) return null
    texts.push(text)
  }
  return { ...request, input: texts }
}
