/** The texts of a request whose tokens are counted or bounded. */
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { sentBytes } from "../../domain/json/SentText.ts"
import { type PromptTexts, textsOf } from "./TokenCounter.ts"
import { countInputs, countPrompt } from "./Tokens.ts"

/** `isRough`: for a rough bound. Long tools, whose bytes are known, are not printed for it. */
export const chatTexts = (request: ChatRequest, isRough = false): PromptTexts => {
  const tools = isRough && request.tools ? sentBytes(request.tools) : undefined
  const printed: ChatRequest = tools === undefined ? request : { ...request, tools: null }
  const texts = textsOf((count) => countPrompt(printed, count))
  return isRough ? { ...texts, unread: tools ?? 0, bytes: sentBytes(request) } : texts
}

export const embeddingTexts = ({ input }: EmbeddingRequest): PromptTexts =>
  textsOf((count) => countInputs(input, count))
