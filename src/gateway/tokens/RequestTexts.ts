/** The texts of a request whose tokens are counted. */
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type PromptTexts, textsOf } from "./TokenCounter.ts"
import { countInputs, countPrompt } from "./Tokens.ts"

export const chatTexts = (request: ChatRequest): PromptTexts => textsOf((count) => countPrompt(request, count))

export const embeddingTexts = ({ input }: EmbeddingRequest): PromptTexts =>
  textsOf((count) => countInputs(input, count))
