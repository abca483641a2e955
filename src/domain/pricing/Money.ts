/**
 * Money. Amounts are integer nano-USD (1e-9 USD), prices are integer pico-USD per token (1 USD per
 * million tokens is 1,000,000 pico-USD per token) or per call. On the wire both are USD numbers. A
 * JavaScript number holds nano-USD exactly up to nine million dollars. Pricing.ts applies prices to
 * a usage.
 */
import { type ByClass, isCallClass, type UsageClass } from "./UsageClass.ts"

/** Integer nano-USD. */
export type NanoUsd = number
/** Integer pico-USD per token, or per call. */
export type PicoUsdPerToken = number

const NANO_PER_USD = 1e9
const PICO_PER_TOKEN_FOR_USD_PER_MILLION = 1e6
const PICO_PER_CALL_FOR_USD_PER_THOUSAND = 1e9

/** USD, as in settings, to integer nano-USD. */
export const nanoFromUsd = (usd: number): NanoUsd => Math.round(usd * NANO_PER_USD)
/** Integer nano-USD to the USD number on the wire. */
export const usdFromNano = (nano: NanoUsd): number => nano / NANO_PER_USD
/** Such as `$0.0000001`: a plain decimal, never an exponent. */
export const usdText = (nano: NanoUsd): string =>
  `$${usdFromNano(nano)
    .toFixed(9)
    .replace(/\.?0+$/, "")}`
/** USD per million tokens, as in price lists, to integer pico-USD per token. */
export const picoFromUsdPerMillion = (usd: number): PicoUsdPerToken =>
  Math.round(usd * PICO_PER_TOKEN_FOR_USD_PER_MILLION)
export const usdPerMillionFromPico = (pico: PicoUsdPerToken): number => pico / PICO_PER_TOKEN_FOR_USD_PER_MILLION
/** USD as price lists write them: per million tokens, or per thousand calls. */
export const picoFromListed = (name: UsageClass, usd: number): PicoUsdPerToken =>
  isCallClass(name) ? Math.round(usd * PICO_PER_CALL_FOR_USD_PER_THOUSAND) : picoFromUsdPerMillion(usd)
export const listedFromPico = (name: UsageClass, pico: PicoUsdPerToken): number =>
  isCallClass(name) ? pico / PICO_PER_CALL_FOR_USD_PER_THOUSAND : usdPerMillionFromPico(pico)

/** The cost of `quantity` tokens or calls at `price`, rounded half up. */
export const costOf = (quantity: number, price: PicoUsdPerToken): NanoUsd => Math.round((quantity * price) / 1000)

/** Prices per token. `cachedPrompt`: price of tokens read from the provider's prompt cache. */
export interface Prices {
  readonly prompt: PicoUsdPerToken
  readonly completion: PicoUsdPerToken
  /** `null`: no discount; cached tokens have the prompt price. */
  readonly cachedPrompt: PicoUsdPerToken | null
  /** Prices of rare classes, per token or per call. */
  readonly rare?: ByClass
}

/** Prices of all tokens of a request whose prompt is longer than `abovePromptTokens`. */
export interface PriceTier extends Prices {
  readonly abovePromptTokens: number
}

/** Prices of one model at one provider. `tiers` for long prompts, in ascending order. */
export interface Pricing extends Prices {
  readonly tiers?: ReadonlyArray<PriceTier>
  /** The factor of all prices per token, by the provider's name of the service tier. */
  readonly serviceTiers?: Readonly<Record<string, number>>
}

/**
 * Tokens as reported by the provider or counted by the gateway. `cachedTokens` are part of
 * `promptTokens`, `reasoningTokens` part of `completionTokens`. `reasoningTokens` is absent if the
 * provider reported none.
 */
export interface TokenUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens?: number
  /**
   * Tokens of rare classes, which are part of the prompt or of the completion, and calls. Audio
   * read from the cache is part of `cachedTokens` too.
   */
  readonly rare?: ByClass
  /** The service tier as the provider names it. Absent: its standard tier. */
  readonly serviceTier?: string
}

/** One line of a bill: the tokens or calls of one class. */
export interface BillLine {
  readonly class: UsageClass
  readonly quantity: number
  /** Per token, or per call. */
  readonly price: PicoUsdPerToken
  readonly nano: NanoUsd
  /** The offer has no price of its own for these. They are charged at the dearest price known. */
  readonly assumed?: true
}

/**
 * Cost of one generation: `prompt + completion - cacheDiscount + fees = total`,
 * `billed = total + markup`. The lines add up to the total. An answer from the gateway's cache has
 * no lines.
 */
export interface Cost {
  readonly promptNano: NanoUsd
  readonly completionNano: NanoUsd
  readonly cacheDiscountNano: NanoUsd
  /** Of calls, not tokens. */
  readonly feesNano: NanoUsd
  readonly totalNano: NanoUsd
  readonly markupNano: NanoUsd
  readonly billedNano: NanoUsd
  readonly lines: ReadonlyArray<BillLine>
}

export const zeroCost: Cost = {
  promptNano: 0,
  completionNano: 0,
  cacheDiscountNano: 0,
  feesNano: 0,
  totalNano: 0,
  markupNano: 0,
  billedNano: 0,
  lines: []
}

export const addCosts = (a: Cost, b: Cost): Cost => ({
  promptNano: a.promptNano + b.promptNano,
  completionNano: a.completionNano + b.completionNano,
  cacheDiscountNano: a.cacheDiscountNano + b.cacheDiscountNano,
  feesNano: a.feesNano + b.feesNano,
  totalNano: a.totalNano + b.totalNano,
  markupNano: a.markupNano + b.markupNano,
  billedNano: a.billedNano + b.billedNano,
  lines: [...a.lines, ...b.lines]
})

/** The UTC calendar month of a moment, such as `2026-11`. Budgets are counted by it. */
export const monthOf = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 7)

export const DAY_MS = 86_400_000

/** The start of a month such as `2026-11`, in Unix milliseconds. */
export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`)

/**
 * The end of the month of `nowMs`, in Unix milliseconds: the first instant of the next UTC month.
 */
export const monthEndMs = (nowMs: number): number => {
  const date = new Date(nowMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
