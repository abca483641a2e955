/**
 * Prices that vendors publish as a rule for all their models, for classes that the price list or
 * the settings leave out. Read on 2026-11-22.
 */
import { picoFromListed, type Prices } from "../../domain/pricing/Money.ts"
import { type ByClass } from "../../domain/pricing/UsageClass.ts"
import { type Preset } from "./Vendors.ts"

/**
 * Claude, wherever it is served: a cache write costs 1.25 times the prompt, for an hour twice the
 * prompt.
 */
export const claudeCacheWrites = (
  { id, upstream }: { readonly id: string; readonly upstream: string },
  { prompt }: Pick<Prices, "prompt">
): ByClass =>
  /claude/i.test(`${id} ${upstream}`) ? { cache_write: Math.round(prompt * 1.25), cache_write_1h: 2 * prompt } : {}

/** By vendor. `listed`: what the price list has. */
export const publishedPrices = ({ dialect, slug }: Preset, upstream: string, listed: Prices): ByClass => {
  const { cachedPrompt, prompt, rare = {} } = listed
  // A model without a price for audio has one price for every kind of prompt. A search is charged
  // once a prompt up to Gemini 2.5, and by query later.
  if (dialect === "gemini")
    return {
      prompt_audio: prompt,
      cached_audio: rare.prompt_audio ?? cachedPrompt ?? prompt,
      web_search: picoFromListed("web_search", /^gemini-[12]\b/.test(upstream) ? 35 : 14)
    }
  // Models before GPT-5.6 do not charge for writing to their cache.
  if (slug === "openai" || slug === "azure") return { cache_write: prompt }
  // The fee of a request pays for its searches (Perplexity).
  return rare.request === undefined ? {} : { web_search: 0 }
}
