/** Usage by day in memory, summed up as in Postgres. */
import { type Generation } from "../../../domain/Generation.ts"
import { DAY_MS } from "../../../domain/pricing/Money.ts"
import {
  noFigures,
  type Report,
  type ReportFigures,
  type ReportGroup,
  type ReportPart,
  type ReportQuery,
  type ReportRow
} from "./LedgerReports.ts"

/** The usage of one key, model and provider on one day. */
export interface UsageDay extends ReportFigures {
  readonly keyId: string
  readonly day: number
  readonly model: string
  readonly provider: string
  readonly ownerId: string | null
}

const plus = (a: ReportFigures, b: ReportFigures): ReportFigures => ({
  requests: a.requests + b.requests,
  failed: a.failed + b.failed,
  cacheHits: a.cacheHits + b.cacheHits,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  totalNano: a.totalNano + b.totalNano,
  markupNano: a.markupNano + b.markupNano,
  billedNano: a.billedNano + b.billedNano,
  savedNano: a.savedNano + b.savedNano
})

const figuresOf = ({ cacheHit, cost, errorType, usage }: Generation): ReportFigures => ({
  requests: 1,
  failed: errorType === null ? 0 : 1,
  cacheHits: cacheHit ? 1 : 0,
  promptTokens: usage.promptTokens,
  completionTokens: usage.completionTokens,
  cachedTokens: usage.cachedTokens,
  totalNano: cost.totalNano,
  markupNano: cost.markupNano,
  billedNano: cost.billedNano,
  savedNano: cacheHit ? cost.cacheDiscountNano : 0
})

const negative = (figures: ReportFigures): ReportFigures => ({
  requests: -figures.requests,
  failed: -figures.failed,
  cacheHits: -figures.cacheHits,
  promptTokens: -figures.promptTokens,
  completionTokens: -figures.completionTokens,
  cachedTokens: -figures.cachedTokens,
  totalNano: -figures.totalNano,
  markupNano: -figures.markupNano,
  billedNano: -figures.billedNano,
  savedNano: -figures.savedNano
})

/** Adds a generation to the usage of its day, or subtracts it. */
export const addUsage = (days: Map<string, UsageDay>, generation: Generation, sign: 1 | -1): void => {
  const { createdAtMs, keyId, model, ownerId, provider } = generation
  const day = Math.floor(createdAtMs / DAY_MS)
  const name = JSON.stringify([keyId, day, model, provider])
  const before = days.get(name) ?? { ...noFigures, keyId, day, model, provider, ownerId }
  const figures = figuresOf(generation)
  const sum = plus(before, sign === 1 ? figures : negative(figures))
  if (sum.requests === 0) days.delete(name)
  else days.set(name, { ...before, ...sum })
}

const groupOf = (one: UsageDay, by: ReportGroup): string | null => {
  switch (by) {
    case "day":
      return new Date(one.day * DAY_MS).toISOString().slice(0, 10)
    case "model":
      return one.model
    case "key":
      return one.keyId
    case "owner":
      return one.ownerId
    case "provider":
      return one.provider
  }
}

/** Null sorts last. */
const byName = (a: ReportRow, b: ReportRow): number =>
  a.group === null ? 1 : b.group === null || a.group < b.group ? -1 : 1

const partOf = (found: ReadonlyArray<UsageDay>, by: ReportGroup, limit: number): ReportPart => {
  const rows = [...Map.groupBy(found, (one) => groupOf(one, by))].map(([group, of]): ReportRow => ({
    group,
    ...of.reduce(plus, noFigures)
  }))
  rows.sort((a, b) => (by === "day" ? 0 : b.billedNano - a.billedNano || b.requests - a.requests) || byName(a, b))
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit }
}

export const reportOf = (days: ReadonlyMap<string, UsageDay>, query: ReportQuery): Report => {
  const found = [...days.values()].filter(
    ({ day, keyId, model, ownerId, provider }) =>
      (query.model ?? model) === model &&
      (query.provider ?? provider) === provider &&
      day >= query.fromDay &&
      day < query.toDay &&
      (query.keyId ?? keyId) === keyId &&
      (query.ownerId ?? ownerId) === ownerId
  )
  return {
    total: found.reduce(plus, noFigures),
    parts: new Map(query.groupBy.map((by) => [by, partOf(found, by, query.limit)]))
  }
}
