/**
 * The clients' name of a vendor's model: `author/slug` in lower case. A vendor's `author/name`
 * keeps its author, under the author's usual name. A bare name gets the author of its family, or
 * else the vendor's. Names known to be one model share one id, so that its vendors can replace each
 * other. A quantised variant is a model of its own.
 */
import { type Preset } from "./Vendors.ts"

/** Usual names of authors, by the names that vendors use. */
const authors: Readonly<Record<string, string>> = {
  "deepseek-ai": "deepseek",
  "zai-org": "z-ai",
  MiniMaxAI: "minimax"
}

/**
 * Vendors that serve other authors' models under bare names. The family in the name tells the
 * author.
 */
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

/** Full-precision models that a vendor serves under its own name. */
const sameModel: Readonly<Record<string, string>> = {
  "groq/llama-3.3-70b-versatile": "meta-llama/llama-3.3-70b-instruct",
  "groq/llama-3.1-8b-instant": "meta-llama/llama-3.1-8b-instruct",
  "cerebras/llama-3.3-70b": "meta-llama/llama-3.3-70b-instruct",
  "cerebras/llama3.1-8b": "meta-llama/llama-3.1-8b-instruct",
  "fireworks/llama-v3p1-8b-instruct": "meta-llama/llama-3.1-8b-instruct"
}

/**
 * Null if the name is not a model: OpenRouter's names all have an author, and the bare ones in the
 * price list are leftovers.
 */
export const modelId = (preset: Preset, listed: string): string | null => {
  const known = sameModel[`${preset.slug}/${listed}`]
  if (known !== undefined) return known
  const slash = listed.indexOf("/")
  if (slash > 0) {
    const author = listed.slice(0, slash)
    return `${(authors[author] ?? author).toLowerCase()}${listed.slice(slash).toLowerCase()}`
  }
  if (preset.slug === "openrouter") return null
  const name = withUsualVersion(preset, listed).toLowerCase()
  const family = hosts.has(preset.slug) ? families.find(([pattern]) => pattern.test(name))?.[1] : undefined
  return `${family ?? preset.author}/${name}`
}

/** Writes versions in the usual form: `3.1` for Fireworks's `3p1`, `4.5` for Anthropic's `4-5`. */
const withUsualVersion = ({ slug }: Preset, listed: string): string => {
  if (slug === "fireworks") return listed.replaceAll(/(\d)p(?=\d)/g, "$1.")
  return slug === "anthropic" ? listed.replace(/-(\d)-(\d{1,2})$/, "-$1.$2") : listed
}
