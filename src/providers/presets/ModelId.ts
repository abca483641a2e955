/**
 * What clients call a vendor's model: `author/slug`, lower case. A vendor's own `author/name` is kept with the author's
 * usual name; a bare name gets the author of its family, or the vendor's. Names that are known to be one model bear one
 * id, so that its vendors can stand in for each other; a quantised variant is a model of its own.
 */
import { type Preset } from "./Vendors.ts"

/** Authors by the names that vendors give them. */
const authors: Readonly<Record<string, string>> = {
  "deepseek-ai": "deepseek",
  "zai-org": "z-ai",
  MiniMaxAI: "minimax"
}

/** Vendors that host others' models under bare names, and the families whose names tell the author. */
const hosts = new Set(["azure", "groq", "together", "fireworks", "cerebras"])
const families: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(gpt-|o\d|chatgpt|text-embedding|codex)/, "openai"],
  [/^deepseek/, "deepseek"],
  [/^(llama|codellama|meta-)/, "meta-llama"],
  [/^gemma|^gemini/, "google"],
  [/^(mistral|mixtral|ministral|codestral|devstral|magistral|pixtral)/, "mistralai"],
  [/^(qwen|qwq)/, "qwen"],
  [/^kimi/, "moonshotai"],
  [/^(glm|zai-glm)/, "z-ai"],
  [/^minimax/, "minimax"],
  [/^nemotron/, "nvidia"],
  [/^(phi-|wizardlm|mai-)/, "microsoft"],
  [/^grok/, "x-ai"],
  [/^claude/, "anthropic"]
]

/** Full-precision models that a vendor serves under a name of its own. */
const sameModel: Readonly<Record<string, string>> = {
  "groq/llama-3.3-70b-versatile": "meta-llama/llama-3.3-70b-instruct",
  "groq/llama-3.1-8b-instant": "meta-llama/llama-3.1-8b-instruct",
  "cerebras/llama-3.3-70b": "meta-llama/llama-3.3-70b-instruct",
  "cerebras/llama3.1-8b": "meta-llama/llama-3.1-8b-instruct",
  "fireworks/llama-v3p1-8b-instruct": "meta-llama/llama-3.1-8b-instruct"
}

/** Null where a name tells no model: OpenRouter's own names all have an author, its list's bare ones are leftovers. */
export const modelId = (preset: Preset, listed: string): string | null => {
  const known = sameModel[`${preset.slug}/${listed}`]
  if (known !== undefined) return known
  const slash = listed.indexOf("/")
  if (slash > 0) {
    const author = listed.slice(0, slash)
    return `${(authors[author] ?? author).toLowerCase()}${listed.slice(slash).toLowerCase()}`
  }
  if (preset.slug === "openrouter") return null
  const name = spelt(preset, listed).toLowerCase()
  const family = hosts.has(preset.slug) ? families.find(([pattern]) => pattern.test(name))?.[1] : undefined
  return `${family ?? preset.author}/${name}`
}

/** Versions as everyone else writes them: Fireworks has `3p1` and Anthropic `4-5` where others have `3.1` and `4.5`. */
const spelt = ({ slug }: Preset, listed: string): string => {
  if (slug === "fireworks") return listed.replaceAll(/(\d)p(?=\d)/g, "$1.")
  return slug === "anthropic" ? listed.replace(/-(\d)-(\d{1,2})$/, "-$1.$2") : listed
}
