/**
 * Derives a Gemini model's generation, and with it the form of its thinking switch, from its name.
 * Generation 2.5 takes a budget in tokens, later ones a level; older ones do not think. A name
 * without a number (`gemini-flash-latest`) is of the newest generation. For other names nothing is
 * sent.
 */
import { Result } from "effect"
import { Unsupported } from "../Provider.ts"

/** `2.5` for `gemini-2.5-flash`. Null if the model is not a Gemini. */
const generationOf = (upstream: string): number | null => {
  const found = /gemini-(\d+(?:\.\d+)?)/.exec(upstream)
  if (found !== null) return Number(found[1])
  return upstream.includes("gemini") ? Number.POSITIVE_INFINITY : null
}

/** True if function calls in the history need a signature: from generation 3 on. */
export const demandsSignatures = (upstream: string): boolean => (generationOf(upstream) ?? 0) >= 3

/** Before generation 3, JSON answers cannot be combined with functions. */
export const separatesJsonFromTools = (upstream: string): boolean => (generationOf(upstream) ?? 3) < 3

/**
 * Thinking budgets of generation 2.5, in tokens, as in Google's OpenAI-compatible endpoint.
 * `minimal` is the smallest model's minimum.
 */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 512,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576
}
/** Minimum of 2.5 Pro, whose thinking cannot be turned off. */
const PRO_MINIMUM = 128

/**
 * The nearest supported level: only Flash goes below `low`, and the first Pro has only two levels.
 */
const levelOf = (upstream: string, effort: string): string => {
  const flash = upstream.includes("flash")
  if (effort === "none" || effort === "minimal") return flash ? "minimal" : "low"
  if (effort === "medium" && upstream.includes("gemini-3-pro")) return "high"
  return effort === "xhigh" ? "high" : effort
}

/**
 * The `thinkingConfig` for a `reasoning_effort`, or null for none. Thoughts are requested from
 * every model that thinks, so that long thinking does not look like silence. Lite models think only
 * on request.
 */
export const thinkingConfig = (
  upstream: string,
  effort: string | null
): Result.Result<Readonly<Record<string, unknown>> | null, Unsupported> => {
  const budget = effort === null ? null : budgets[effort]
  if (budget === undefined) {
    const message = `reasoning_effort must be one of ${Object.keys(budgets).join(", ")} here`
    return Result.fail(new Unsupported({ param: "reasoning_effort", message }))
  }
  const generation = generationOf(upstream)
  if (generation === null || generation < 2.5 || /image|tts|audio|live/.test(upstream)) return Result.succeed(null)
  if (effort === null || budget === null)
    return Result.succeed(upstream.includes("lite") ? null : { includeThoughts: true })
  const includeThoughts = effort === "none" ? {} : { includeThoughts: true }
  if (generation >= 3) return Result.succeed({ ...includeThoughts, thinkingLevel: levelOf(upstream, effort) })
  const least = upstream.includes("pro") ? PRO_MINIMUM : 0
  return Result.succeed({ ...includeThoughts, thinkingBudget: Math.max(budget, least) })
}
