/**
 * Derives a Gemini model's generation, and with it the form of its thinking switch, from its name.
 * Generation 2.5 takes a budget in tokens, later ones a level; older ones do not think. A name
 * without a number (`gemini-flash-latest`) is of the newest generation. For other names nothing is
 * sent.
 */
import { Result } from "effect"
import { Unsupported } from "../Provider.ts"
import { effortOf, type ReasoningAsked } from "../wire/ReasoningAsked.ts"

/** `2.5` for `gemini-2.5-flash`. Null if the model is not a Gemini. */
const generationOf = (upstream: string): number | null => {
  const found = /gemini-(\d+(?:\.\d+)?)/.exec(upstream)
  if (found !== null) return Number(found[1])
  return upstream.includes("gemini") ? Number.POSITIVE_INFINITY : null
}

/** True if function calls in the history need a signature: from generation 3 on. */
export const demandsSignatures = (upstream: string): boolean => (generationOf(upstream) ?? 0) >= 3

/** True if a tool's result can hold images: from generation 3 on. */
export const takesResultImages = (upstream: string): boolean => (generationOf(upstream) ?? 0) >= 3

/** True if the model makes images. */
export const makesImages = (upstream: string): boolean => upstream.includes("-image")

/** True if the model has the mode `VALIDATED`, in which every call follows its schema. */
export const validatesCalls = (upstream: string): boolean => (generationOf(upstream) ?? 0) >= 2.5

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
  xhigh: 24_576,
  max: 24_576
}
/** Minimum of 2.5 Pro, whose thinking cannot be turned off. */
const PRO_MINIMUM = 128
/** The largest budgets of 2.5 Pro and of the others. */
const PRO_MAXIMUM = 32_768
const MAXIMUM = 24_576

/**
 * The nearest supported level: only Flash goes below `low`, and the first Pro has only two levels.
 */
const levelOf = (upstream: string, effort: string): string => {
  const flash = upstream.includes("flash")
  if (effort === "none" || effort === "minimal") return flash ? "minimal" : "low"
  if (effort === "medium" && upstream.includes("gemini-3-pro")) return "high"
  return effort === "xhigh" || effort === "max" ? "high" : effort
}

/**
 * The `thinkingConfig` for what a request asks, or null for none. Thoughts are requested from every
 * model that thinks, so that long thinking does not look like silence. Lite models think only on
 * request.
 */
export const thinkingConfig = (
  upstream: string,
  asked: ReasoningAsked | null
): Result.Result<Readonly<Record<string, unknown>> | null, Unsupported> => {
  if (asked !== null && asked.effort !== null && budgets[asked.effort] === undefined) {
    const message = `reasoning_effort must be one of ${Object.keys(budgets).join(", ")} here`
    return Result.fail(new Unsupported({ param: "reasoning_effort", message }))
  }
  const generation = generationOf(upstream)
  if (generation === null || generation < 2.5 || /image|tts|audio|live/.test(upstream)) return Result.succeed(null)
  if (asked === null) return Result.succeed(upstream.includes("lite") ? null : { includeThoughts: true })
  const effort = asked.budgetTokens === 0 ? "none" : effortOf(asked)
  const includeThoughts = effort === "none" ? {} : { includeThoughts: true }
  if (generation >= 3) return Result.succeed({ ...includeThoughts, thinkingLevel: levelOf(upstream, effort) })
  const [least, most] = upstream.includes("pro") ? [PRO_MINIMUM, PRO_MAXIMUM] : [0, MAXIMUM]
  const budget = asked.budgetTokens ?? budgets[effort] ?? 0
  return Result.succeed({ ...includeThoughts, thinkingBudget: Math.min(Math.max(budget, least), most) })
}
