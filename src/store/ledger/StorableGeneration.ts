/**
 * Brings a generation within the bounds of every store: numbers are whole and finite, names and
 * lists have a maximum length. A regular generation stays unchanged. Absurd values of a client or
 * provider are cut, so that they never make a settlement fail.
 */
import { Predicate } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { type BillLine, type TokenUsage } from "../../domain/pricing/Money.ts"
import { mapClasses } from "../../domain/pricing/UsageClass.ts"

/**
 * 100,000 USD: the most that one request reserves or costs. A key's sum of many such amounts is
 * still exact.
 */
const MOST_NANO = 1e14
const MOST_TOKENS = 1e12
const MOST_MS = 1e12
const MOST_ENTRIES = 64
const LONGEST_NAME = 200
const MOST_DROPPED = 32
const LONGEST_MESSAGE = 300

const within = (value: number, most: number, least = 0): number =>
  Number.isNaN(value) ? 0 : Math.round(Math.max(least, Math.min(most, value)))
const tokens = (value: number): number => within(value, MOST_TOKENS)
const duration = (value: number): number => (value >= 0 && value <= MOST_MS ? value : within(value, MOST_MS))
/** The name of a model, a provider or a reason. */
export const storableName = (text: string): string => (text.length > LONGEST_NAME ? text.slice(0, LONGEST_NAME) : text)
const maybe = <A>(value: A | null, bound: (value: A) => A): A | null => (value === null ? null : bound(value))

/** The amount of a reservation. */
export const storableNano = (value: number): number => within(value, MOST_NANO)
const signedNano = (value: number): number => within(value, MOST_NANO, -MOST_NANO)

const usageWithin = (usage: TokenUsage): TokenUsage => ({
  promptTokens: tokens(usage.promptTokens),
  completionTokens: tokens(usage.completionTokens),
  cachedTokens: tokens(usage.cachedTokens),
  ...(usage.reasoningTokens === undefined ? {} : { reasoningTokens: tokens(usage.reasoningTokens) }),
  ...(usage.rare === undefined ? {} : { rare: mapClasses(usage.rare, tokens) }),
  ...(usage.serviceTier === undefined ? {} : { serviceTier: storableName(usage.serviceTier) })
})

export const storableLines = (lines: ReadonlyArray<BillLine>): ReadonlyArray<BillLine> =>
  lines.slice(0, MOST_ENTRIES).map((line) => ({
    ...line,
    quantity: tokens(line.quantity),
    price: storableNano(line.price),
    nano: storableNano(line.nano)
  }))

/** Members without a bound here: names of our own, and what the gateway has bounded before. */
const unbounded: ReadonlySet<string> = new Set([
  "id",
  "keyId",
  "ownerId",
  "createdAtMs",
  "parameters",
  "masked",
  "request"
])

/** Whether a value is within the narrowest of the bounds, as those of nearly every generation. */
const isSmall = (value: unknown): boolean => {
  if (typeof value === "number") return Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS
  if (typeof value === "string") return value.length <= LONGEST_NAME
  if (Array.isArray(value)) return value.length <= MOST_DROPPED && value.every(isSmall)
  return !Predicate.isObject(value) || hasSmallMembers(value)
}

const hasSmallMembers = (value: object): boolean => {
  for (const name in value) if (!unbounded.has(name) && !isSmall(Reflect.get(value, name))) return false
  return true
}

/** The generation itself if it is within all bounds. */
export const storableGeneration = (generation: Generation): Generation =>
  hasSmallMembers(generation) ? generation : bounded(generation)

const bounded = (generation: Generation): Generation => {
  const { attempts, cost, dropped, excluded, price, reservation } = generation
  return {
    ...generation,
    model: storableName(generation.model),
    provider: storableName(generation.provider),
    ...(generation.requestedModel === undefined ? {} : { requestedModel: storableName(generation.requestedModel) }),
    finishReason: maybe(generation.finishReason, storableName),
    errorType: maybe(generation.errorType, storableName),
    usage: usageWithin(generation.usage),
    cost: {
      promptNano: storableNano(cost.promptNano),
      completionNano: storableNano(cost.completionNano),
      cacheDiscountNano: storableNano(cost.cacheDiscountNano),
      feesNano: storableNano(cost.feesNano),
      totalNano: signedNano(cost.totalNano),
      markupNano: signedNano(cost.markupNano),
      billedNano: storableNano(cost.billedNano),
      lines: storableLines(cost.lines)
    },
    latencyMs: duration(generation.latencyMs),
    timeToFirstTokenMs: maybe(generation.timeToFirstTokenMs, duration),
    attempts: attempts.slice(0, MOST_ENTRIES).map(({ charge, ...attempt }) => ({
      ...attempt,
      provider: storableName(attempt.provider),
      model: storableName(attempt.model),
      latencyMs: duration(attempt.latencyMs),
      ...(attempt.startedMs === undefined ? {} : { startedMs: duration(attempt.startedMs) }),
      ...(attempt.endedMs === undefined ? {} : { endedMs: duration(attempt.endedMs) }),
      ...(attempt.message === undefined ? {} : { message: attempt.message.slice(0, LONGEST_MESSAGE) }),
      errorType: maybe(attempt.errorType, storableName),
      httpStatus: maybe(attempt.httpStatus, tokens),
      ...(charge === undefined
        ? {}
        : { charge: { usage: usageWithin(charge.usage), totalNano: signedNano(charge.totalNano) } })
    })),
    excluded: excluded.slice(0, MOST_ENTRIES).map(({ model, reason, slug }) => ({
      slug: storableName(slug),
      model: storableName(model),
      reason: storableName(reason)
    })),
    price: {
      prompt: storableNano(price.prompt),
      completion: storableNano(price.completion),
      cachedPrompt: maybe(price.cachedPrompt, storableNano)
    },
    reservation: {
      reservedNano: storableNano(reservation.reservedNano),
      extendedNano: storableNano(reservation.extendedNano),
      settledNano: storableNano(reservation.settledNano)
    },
    ...(dropped === undefined ? {} : { dropped: dropped.slice(0, MOST_DROPPED).map(storableName) })
  }
}
