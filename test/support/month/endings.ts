/**
 * Generations of every ending, drawn by a seed: answers, cache hits, retries, fallbacks, skipped
 * providers, failures, time limits, clients that left, streams that broke and streams that went on
 * elsewhere. Attempts, lines and charges add up as in the gateway's own records.
 */
import { type Attempt, type Generation } from "../../../src/domain/Generation.ts"
import { addCosts, type Cost, type TokenUsage, zeroCost } from "../../../src/domain/pricing/Money.ts"
import { priceUsage, savedCost } from "../../../src/domain/pricing/Pricing.ts"
import { type Dice } from "../../../scripts/privacyEval/Dice.ts"
import { type Offer, offersOf } from "./offers.ts"

/** A generation without the members that each copy has of its own. */
export type Ending = Omit<Generation, "createdAtMs" | "id" | "keyId" | "ownerId">

const models: ReadonlyArray<readonly [weight: number, model: string]> = [
  [42, "acme/small"],
  [20, "acme/large"],
  [22, "globex/fast"],
  [6, "acme/reason"],
  [10, "acme/embed"]
]

const kinds = [
  [848, "answered"],
  [90, "cached"],
  [12, "retried"],
  [20, "fell_back"],
  [8, "skipped"],
  [5, "failed"],
  [3, "timed_out"],
  [3, "limited"],
  [6, "left"],
  [2, "cut"],
  [3, "continued"]
] as const
type Kind = (typeof kinds)[number][1]

const statuses = { provider_error: 502, provider_timeout: 504, provider_rate_limited: 429 } as const

/** What a provider said. */
const words = {
  limited: "You exceeded your current quota, please check your plan and billing details.",
  server: "The server had an error while processing your request.",
  overloaded: "This model is currently overloaded. Please retry.",
  refused: "connect ECONNREFUSED 127.0.0.1:9"
}

type Fault = Pick<Attempt, "errorType" | "httpStatus"> & { readonly message?: string; readonly tookMs: number }

/** One of these, by their weights. */
const pickBy = <A>(dice: Dice, from: ReadonlyArray<readonly [weight: number, value: A]>): A => {
  let left = dice.int(
    1,
    from.reduce((sum, [weight]) => sum + weight, 0)
  )
  const found = from.find(([weight]) => (left -= weight) <= 0)
  if (found === undefined) throw new Error("nothing to pick from")
  return found[1]
}

/** `delta` refuses connections; the others fail in all ways. */
const faultOf = (dice: Dice, { provider }: Offer): Fault => {
  if (provider === "delta") return { errorType: "unreachable", httpStatus: null, message: words.refused, tookMs: 3 }
  return pickBy<Fault>(dice, [
    [4, { errorType: "rate_limited", httpStatus: 429, message: words.limited, tookMs: dice.int(60, 200) }],
    [3, { errorType: "server_error", httpStatus: 500, message: words.server, tookMs: dice.int(100, 900) }],
    [3, { errorType: "server_error", httpStatus: 503, message: words.overloaded, tookMs: dice.int(100, 600) }]
  ])
}

const failedAt = (offer: Offer, startedMs: number, { tookMs, ...fault }: Fault): Attempt => ({
  provider: offer.provider,
  model: offer.model,
  status: fault.errorType === "timeout" ? "timeout" : "error",
  latencyMs: tookMs,
  startedMs,
  endedMs: startedMs + tookMs,
  ...fault
})

const answeredAt = (offer: Offer, startedMs: number, tookMs: number): Attempt => ({
  provider: offer.provider,
  model: offer.model,
  status: "ok",
  latencyMs: tookMs,
  startedMs,
  endedMs: startedMs + tookMs,
  errorType: null,
  httpStatus: 200
})

/** One generation of a kind. `down`: the provider that is out of order. */
export const drawEnding = (dice: Dice, down: string | null): Ending => {
  const model = down === null ? pickBy(dice, models) : "globex/fast"
  const offers = offersOf(model)
  const isEmbedding = model === "acme/embed"
  const first = offers[0]
  if (first === undefined) throw new Error(`${model} has no offer`)
  const second = offers[1] ?? first
  const drawn =
    down === null
      ? pickBy<Kind>(dice, kinds)
      : pickBy<Kind>(dice, [
          [5, "fell_back"],
          [2, "skipped"],
          [1, "failed"]
        ])
  // Embeddings do not stream, and have one provider.
  const kind = isEmbedding && drawn !== "answered" && drawn !== "cached" ? "answered" : drawn
  const streamed = !isEmbedding && (kind === "cut" || kind === "continued" || dice.chance(0.55))
  const promptTokens = Math.round(40 * dice.int(10, 1_000) ** 0.6)
  const usage: TokenUsage = {
    promptTokens,
    completionTokens: isEmbedding ? 0 : dice.int(8, 900),
    cachedTokens: first.prices.cachedPrompt !== null && dice.chance(0.3) ? Math.floor(promptTokens * 0.6) : 0
  }
  const tookMs = 180 + (isEmbedding ? dice.int(5, 60) : Math.round(usage.completionTokens * (2 + dice.int(0, 6))))
  const ttft = dice.int(90, 420)
  const fault = faultOf(dice, first)
  const last = offers.length > 1 ? second : first
  const base = {
    model,
    usageSource: "provider" as const,
    streamed,
    cacheHit: false,
    fallbackUsed: false,
    cancelled: false,
    finishReason: isEmbedding
      ? null
      : pickBy(dice, [
          [92, "stop"],
          [5, "length"],
          [3, "tool_calls"]
        ]),
    errorType: null,
    excluded: dice.chance(0.1) ? [{ slug: "delta", model, reason: "data_collection_denied" }] : [],
    parameters: isEmbedding ? {} : { max_tokens: 1_024, temperature: 0.2, stream: streamed },
    request: { id: "", endpoint: isEmbedding ? "POST /v1/embeddings" : "POST /v1/chat/completions", status: 200 },
    ...(dice.chance(0.03) ? { masked: { email: dice.int(1, 3) } } : {})
  }
  const ended = (
    offer: Offer,
    attempts: ReadonlyArray<Attempt>,
    used: TokenUsage,
    cost: Cost,
    rest: Partial<Ending> = {}
  ): Ending => {
    const firstTokenAt = streamed && used.completionTokens > 0 ? (attempts.at(-1)?.startedMs ?? 0) + ttft : null
    const endMs = Math.max(0, ...attempts.map(({ endedMs }) => endedMs ?? 0))
    return {
      ...base,
      provider: offer.provider,
      usage: used,
      cost,
      latencyMs: Math.max(endMs, firstTokenAt ?? 0) + 1,
      timeToFirstTokenMs: firstTokenAt,
      attempts,
      price: offer.prices,
      reservation: { reservedNano: cost.billedNano * 3, extendedNano: 0, settledNano: cost.billedNano },
      ...rest
    }
  }
  const answer = (offer: Offer, before: ReadonlyArray<Attempt>, waitMs: number): Ending => {
    const startedMs = Math.max(0, ...before.map(({ endedMs }) => endedMs ?? 0)) + waitMs
    const took = Math.max(tookMs, ttft + 1)
    const attempts = [...before, answeredAt(offer, startedMs, took)]
    return ended(offer, attempts, usage, priceUsage(usage, offer.prices, 0), { fallbackUsed: offer !== first })
  }
  const failed = (attempts: ReadonlyArray<Attempt>, errorType: keyof typeof statuses): Ending =>
    ended(last, attempts, { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }, zeroCost, {
      errorType,
      finishReason: null,
      fallbackUsed: last !== first,
      request: { ...base.request, status: statuses[errorType] }
    })
  const broken = failedAt(first, 0, fault)
  switch (kind) {
    case "answered":
      return answer(first, [], 0)
    case "cached":
      return ended(first, [], usage, savedCost(usage, first.prices), {
        usageSource: "cache",
        cacheHit: true,
        timeToFirstTokenMs: streamed ? 1 : null
      })
    case "retried":
      return answer(first, [failedAt(first, 0, { ...fault, tookMs: 120 })], 250)
    case "fell_back":
      return answer(last, [broken], last === first ? 250 : 0)
    case "skipped": {
      const skipped = { ...broken, status: "skipped" as const, latencyMs: 0, endedMs: 0, httpStatus: null }
      return answer(last, last === first ? [] : [skipped], 0)
    }
    case "failed":
      return failed([broken, ...again(dice, broken, last)], "provider_error")
    case "timed_out": {
      const late = { errorType: "timeout", httpStatus: null, tookMs: 30_000 }
      return failed([failedAt(last, 0, late)], "provider_timeout")
    }
    case "limited":
      return failed(
        [failedAt(last, 0, { errorType: "rate_limited", httpStatus: 429, message: words.limited, tookMs: 90 })],
        "provider_rate_limited"
      )
    case "left": {
      const used = { ...usage, completionTokens: streamed ? Math.ceil(usage.completionTokens / 3) : 0 }
      const took = ttft + Math.ceil(tookMs / 3)
      const attempt = {
        ...answeredAt(first, 0, took),
        ...(streamed ? {} : { status: "cancelled" as const, httpStatus: null })
      }
      return ended(first, [attempt], used, priceUsage(used, first.prices, 0), {
        usageSource: "counted",
        cancelled: true,
        finishReason: null,
        request: { ...base.request, status: streamed ? 200 : 499 }
      })
    }
    case "cut": {
      const used = { ...usage, completionTokens: Math.ceil(usage.completionTokens / 2) }
      const attempt = failedAt(first, 0, { errorType: "stream_cut", httpStatus: 200, tookMs: tookMs + ttft })
      return ended(first, [attempt], used, priceUsage(used, first.prices, 0), {
        usageSource: "counted",
        finishReason: "error",
        errorType: "provider_error"
      })
    }
    case "continued": {
      const begun = { ...usage, completionTokens: Math.ceil(usage.completionTokens / 2) }
      const rest = {
        promptTokens: promptTokens + begun.completionTokens,
        completionTokens: begun.completionTokens,
        cachedTokens: 0
      }
      const [one, two] = [priceUsage(begun, first.prices, 0), priceUsage(rest, last.prices, 0)]
      const charge = { usage: begun, totalNano: one.totalNano }
      const cut = failedAt(first, 0, { errorType: "stream_cut", httpStatus: 200, tookMs: ttft + 200 })
      const sum = {
        promptTokens: begun.promptTokens + rest.promptTokens,
        completionTokens: begun.completionTokens + rest.completionTokens,
        cachedTokens: begun.cachedTokens
      }
      return ended(last, [{ ...cut, charge }, answeredAt(last, ttft + 200, tookMs)], sum, addCosts(two, one), {
        usageSource: "counted",
        fallbackUsed: last !== first,
        timeToFirstTokenMs: ttft
      })
    }
  }
}

/** The last try of a request that failed, where there is a second provider or a retry. */
const again = (dice: Dice, { endedMs = 0 }: Attempt, offer: Offer): ReadonlyArray<Attempt> => {
  const fault = faultOf(dice, offer)
  return [failedAt(offer, endedMs + 250, fault)]
}
