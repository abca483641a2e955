/** The endpoints of usage reports. Amounts are converted from nano-USD to USD. */
import { DateTime, Effect, Layer } from "effect"
import { type HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type UsageReport } from "../../api/Usage.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Names } from "../../gateway/admin/Names.ts"
import { type UsageFigures, type UsageQuery, UsageReports } from "../../gateway/billing/UsageReports.ts"
import { orUnavailable } from "../../gateway/StoreUnavailable.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { csvResponse } from "./Csv.ts"

const layer = HttpApiBuilder.group(
  Api,
  "usage",
  Effect.fnUntraced(function* (handlers) {
    const { read } = yield* UsageReports
    return handlers.handle("read", ({ query }) =>
      guard(
        Effect.flatMap(CurrentKey, ({ key }) =>
          answer(query, (asked) =>
            Effect.map(read({ ...asked, keyId: key.id, ownerId: null }), (figures) => ({
              figures,
              names: new Map([[key.id, key.name]])
            }))
          )
        )
      )
    )
  })
)

/** The admin's view: usage of all keys. */
const layerAdmin = HttpApiBuilder.group(
  Api,
  "adminUsage",
  Effect.fnUntraced(function* (handlers) {
    const { read } = yield* UsageReports
    const names = yield* Names
    return handlers.handle("read", ({ query }) =>
      guard(
        answer(query, (asked) =>
          Effect.gen(function* () {
            const figures = yield* read({ ...asked, keyId: query.key ?? null, ownerId: query.owner ?? null })
            const { rows } = figures.parts.get(query.group_by) ?? { rows: [] }
            const isOf = (group: string) => query.group_by === group
            const owned = rows.map(({ group }) => ({
              keyId: isOf("key") ? group : null,
              ownerId: isOf("owner") ? group : null
            }))
            return { figures, names: yield* orUnavailable(names.of(owned)) }
          })
        )
      )
    )
  })
)

interface Sent extends SpanQuery {
  readonly group_by: UsageReport["group_by"]
  readonly model?: string
  readonly provider?: string
  readonly format: "json" | "csv"
}

interface Answered {
  readonly figures: UsageFigures
  readonly names: NamesById
}

type NamesById = ReadonlyMap<string, string>

/** The most lines of a CSV. */
const MOST_LINES = 50_000

/** The report as JSON or CSV. */
const answer = (
  { format, group_by, model, provider, ...span }: Sent,
  read: (query: Omit<UsageQuery, "keyId" | "ownerId">) => Effect.Effect<Answered, GatewayError>
): Effect.Effect<HttpServerResponse.HttpServerResponse | UsageReport, GatewayError> => {
  const query = {
    ...spanOf(span),
    groupBy: [group_by],
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider })
  }
  const report = (limit: number) =>
    Effect.map(read({ ...query, limit }), ({ figures, names }) => reportOf(group_by, figures, names))
  return format === "json"
    ? report(MOST_ROWS)
    : csvResponse({
        columns: [group_by, ...(named[group_by] ?? []), ...figureNames],
        name: `usage-by-${group_by}`,
        read: () => Effect.map(report(MOST_LINES), ({ data }) => ({ rows: data.map(cellsOf), nextCursor: null }))
      })
}

const MOST_ROWS = 1_000
const named: Partial<Record<UsageReport["group_by"], ReadonlyArray<"key_name" | "owner_name">>> = {
  key: ["key_name"],
  owner: ["owner_name"]
}
const figureNames = [
  "requests",
  "failed",
  "refusals",
  "cache_hits",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "total_cost_usd",
  "markup_usd",
  "billed_usd",
  "saved_usd"
] as const

type Row = UsageReport["data"][number]

/** A column that the rows do not have is empty. */
const cellsOf = (row: Row) => ({ ...noCells, ...row })
const noCells = { day: null, model: null, key: null, key_name: null, owner: null, owner_name: null, provider: null }

interface SpanQuery {
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
}

export const spanOf = ({ from, to }: SpanQuery) => ({
  fromMs: from === undefined ? null : DateTime.toEpochMillis(from),
  toMs: to === undefined ? null : DateTime.toEpochMillis(to)
})

const reportOf = (
  groupBy: UsageReport["group_by"],
  { fromMs, parts, toMs, total }: UsageFigures,
  names: NamesById
): UsageReport => {
  const { hasMore, rows } = parts.get(groupBy) ?? { rows: [], hasMore: false }
  return {
    object: "usage",
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    group_by: groupBy,
    data: rows.map((row): Row => {
      const name = row.group === null ? null : (names.get(row.group) ?? null)
      return {
        [groupBy]: row.group,
        ...(groupBy === "key" ? { key_name: name } : groupBy === "owner" ? { owner_name: name } : {}),
        ...figuresOf(row)
      }
    }),
    total: figuresOf(total),
    has_more: hasMore
  }
}

const figuresOf = (figures: UsageFigures["total"]): UsageReport["total"] => ({
  requests: figures.requests,
  failed: figures.failed,
  refusals: figures.refusals,
  cache_hits: figures.cacheHits,
  prompt_tokens: figures.promptTokens,
  completion_tokens: figures.completionTokens,
  cached_tokens: figures.cachedTokens,
  total_cost_usd: usdFromNano(figures.totalNano),
  markup_usd: usdFromNano(figures.markupNano),
  billed_usd: usdFromNano(figures.billedNano),
  saved_usd: usdFromNano(figures.savedNano)
})

export const layers = Layer.merge(layer, layerAdmin)
