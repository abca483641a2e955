/**
 * What a Gemini model's name tells about it: its generation, and from it how its thinking is asked for. Generation 2.5 takes a budget
 * in tokens, later ones a level; older ones do not think. A name without a number (`gemini-flash-latest`) is of the newest
 * generation; a name that is not a Gemini's tells nothing, and nothing is asked of it.
 */
import { Result } from "effect"
import { Unsupported } from "../Provider.ts"

/** `2.5` of `gemini-2.5-flash`; null where the name is not a Gemini's. */
const generationOf = (upstream: string): number | null => {
  const found = /gemini-(\d+(?:\.\d+)?)/.exec(upstream)
  if (found !== null) return Number(found[1])
  return upstream.includes("gemini") ? Number.POSITIVE_INFINITY : null
}

/** Whether calls of functions in the history must bear a signature: from generation 3 on. */
export const demandsSignatures = (upstream: string): boolean => (generationOf(upstream) ?? 0) >= 3

/** Before generation 3, JSON was not to be had beside functions. */
export const separatesJsonFromTools = (upstream: string): boolean => (generationOf(upstream) ?? 3) < 3

/** Tokens of thought for generation 2.5, as Google's own OpenAI endpoint has them; `minimal` is what the smallest model takes. */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 512,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576
}
/** The least that 2.5 Pro thinks: it cannot stop. */
const PRO_MINIMUM = 128

/** What the models without all levels take instead: only Flash goes below `low`, and the first Pro knew two levels. */
const levelOf = (upstream: string, effort: string): string => {
  const flash = upstream.includes("flash")
  if (effort === "none" || effort === "minimal") return flash ? "minimal" : "low"
  if (effort === "medium" && upstream.includes("gemini-3-pro")) return "high"
  return effort === "xhigh" ? "high" : effort
}

/**
 * The `thinkingConfig` for a `reasoning_effort`; null where nothing is to be said. Thoughts are asked for wherever the model thinks,
 * so that a long thought is no silence; except of the small models that think only when told to.
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
