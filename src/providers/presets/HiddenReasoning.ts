/**
 * Recognises, by name, models that bill reasoning tokens which they do not show: OpenAI's o series,
 * GPT-5 and later, Gemini 2.5 and later, Grok 4 and later, and Claudes that think by default. This
 * is the default of an offer's `hidesReasoning`. The settings file overrides it.
 */
import { claudeModel } from "../anthropic/Model.ts"

const families =
  /(?:^|[/.])(?:o\d+(?!\w)|gpt-(?:[5-9]|[12]\d)|codex-|gemini-(?:2\.5|[3-9]|\d\d|[a-z-]+-latest)|grok-(?:[4-9]|\d\d))/

/** `id`: the clients' name of the model. `upstream`: the provider's. */
export const hidesReasoning = ({ id, upstream }: { readonly id: string; readonly upstream: string }): boolean =>
  [id.toLowerCase(), upstream.toLowerCase()].some(
    (name) => families.test(name) || (name.includes("claude") && claudeModel(name).thinkingOff !== "unasked")
  )
