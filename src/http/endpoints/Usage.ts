/** The endpoints of usage reports. Amounts are converted from nano-USD to USD. */
import { DateTime, Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { type UsageReport } from "../../api/Usage.ts"
import { usdFromNano } from "../../domain/Money.ts"
import { type UsageFigures, UsageReports } from "../../gateway/billing/UsageReports.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { guard } from "../errors/ErrorResponse.ts"

const layer = HttpApiBuilder.group(
  Api,
  "usage",
  Effect.fnUntraced(function* (handlers) {
    const { read } = yield* UsageReports
    return handlers.handle("read", ({ query }) =>
      guard(
        Effect.flatMap(CurrentKey, ({ key }) =>
          Effect.map(
            read({ ...spanOf(query), keyId: key.id, ownerId: null, groupBy: [query.group_by] }),
            reportOf(query.group_by)
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
    return handlers.handle("read", ({ query }) =>
      guard(
        Effect.map(
          read({ ...spanOf(query), keyId: null, ownerId: null, groupBy: [query.group_by] }),
          reportOf(query.group_by)
        )
      )
    )
  })
)

interface SpanQuery {
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
}

export const spanOf = ({ from, to }: SpanQuery) => ({
  fromMs: from === undefined ? null : DateTime.toEpochMillis(from),
  toMs: to === undefined ? null : DateTime.toEpochMillis(to)
})

const reportOf =
  (groupBy: UsageReport["group_by"]) =>
  ({ fromMs, parts, toMs, total }: UsageFigures): UsageReport => {
    const { hasMore, rows } = parts.get(groupBy) ?? { rows: [], hasMore: false }
    return {
      object: "usage",
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      group_by: groupBy,
      data: rows.map((row) => ({ [groupBy]: row.group, ...figuresOf(row) })),
      total: figuresOf(total),
      has_more: hasMore
    }
  }

const figuresOf = (figures: UsageFigures["total"]): UsageReport["total"] => ({
  requests: figures.requests,
  failed: figures.failed,
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
