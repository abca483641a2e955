/**
 * Which models think in tokens that are paid for and not shown, told from their names: OpenAI's o series and GPT-5 on, Gemini 2.5 on,
 * Grok 4 on, and the Claudes that think unasked. It is the default of an offer's `hidesReasoning`; the settings file overrides it.
 */
import { claudeModel } from "../anthropic/Model.ts"

const families =
  /(?:^|[/.])(?:o\d+(?!\w)|gpt-(?:[5-9]|[12]\d)|codex-|gemini-(?:2\.5|[3-9]|\d\d|[a-z-]+-latest)|grok-(?:[4-9]|\d\d))/

/** `id`: what clients name. `upstream`: what the provider calls it. */
export const hidesReasoning = ({ id, upstream }: { readonly id: string; readonly upstream: string }): boolean =>
  [id.toLowerCase(), upstream.toLowerCase()].some(
    (name) => families.test(name) || (name.includes("claude") && claudeModel(name).thinkingOff !== "unasked")
  )
