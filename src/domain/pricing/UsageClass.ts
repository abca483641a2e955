/**
 * The classes of a usage that vendors price apart. The settings and the receipt use these names.
 *
 * The classes of the prompt share out its tokens, and so do those of the completion: no token is in
 * two classes. Reasoning tokens have the price of the completion.
 */

/** Classes that most usages do not have, beside `prompt`, `cached_prompt` and `completion`. */
export const rareClasses = [
  /**
   * Prompt tokens written to the provider's cache for the usual time: five minutes at Anthropic.
   */
  "cache_write",
  /** Prompt tokens written to the provider's cache for an hour. */
  "cache_write_1h",
  "prompt_audio",
  /** Audio read from the provider's cache. */
  "cached_audio",
  "completion_audio",
  "completion_image",
  /** The call itself, of models that have a fee for each. */
  "request",
  /** Searches that the vendor ran for the answer. */
  "web_search"
] as const
export type RareClass = (typeof rareClasses)[number]
export type UsageClass = "prompt" | "cached_prompt" | "completion" | RareClass

/** True if the class is counted in calls, not in tokens. */
export const isCallClass = (name: UsageClass): boolean => name === "request" || name === "web_search"

/** A number for each of some classes. For an absent class: no tokens, or no price. */
export type ByClass = Readonly<Partial<Record<RareClass, number>>>

export const noClasses: ByClass = {}

/**
 * `change` applied to each number; a class whose result is null is left out. `noClasses` if all
 * are.
 */
export const mapClasses = (given: ByClass, change: (value: number, name: RareClass) => number | null): ByClass => {
  let changed: Partial<Record<RareClass, number>> | null = null
  for (const name of rareClasses) {
    const value = given[name]
    const result = value === undefined ? null : change(value, name)
    if (result !== null) (changed ??= {})[name] = result
  }
  return changed ?? noClasses
}

/** The sum of each class. */
export const addClasses = (a: ByClass, b: ByClass = {}): ByClass => ({
  ...b,
  ...mapClasses(a, (value, name) => value + (b[name] ?? 0))
})

/** Service tiers at the listed price. `scale` and `reserved` are paid ahead. */
const standardTiers = new Set(["auto", "default", "standard", "standard_only", "on_demand", "scale", "reserved"])
/** Service tiers that no vendor sells above the listed price. */
const cheapTiers = new Set(["flex", "batch"])

export const isStandardTier = (tier: string): boolean => standardTiers.has(tier)
/** True if the tier may cost more than the listed price. */
export const isDearTier = (tier: string): boolean => !standardTiers.has(tier) && !cheapTiers.has(tier)
