/** The endpoints of all requests: generations and refusals in one list. */
import { DateTime, Effect, Layer } from "effect"
import { type HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Authorization.ts"
import { type RequestRow as Wire } from "../../api/Requests.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type Generation } from "../../domain/Generation.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { type Refusal } from "../../domain/Refusal.ts"
import {
  type RequestEnd,
  type RequestPage,
  type RequestQuery,
  type RequestRow,
  Requests
} from "../../gateway/admin/Requests.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { csvResponse } from "./Csv.ts"

const ofAdmins = HttpApiBuilder.group(
  Api,
  "adminRequests",
  Effect.fnUntraced(function* (handlers) {
    const requests = yield* Requests
    return handlers.handle("list", ({ query: { user, ...query } }) =>
      guard(answer(requests, query, user === undefined ? {} : { ownerId: user }))
    )
  })
)

const ofUsers = HttpApiBuilder.group(
  Api,
  "ownedRequests",
  Effect.fnUntraced(function* (handlers) {
    const requests = yield* Requests
    return handlers.handle("list", ({ query }) =>
      guard(Effect.flatMap(CurrentUser, ({ user }) => answer(requests, query, { ownerId: user.id })))
    )
  })
)

/** Rows of a page of a CSV. */
const CSV_PAGE = 200

const columns = [
  "object",
  "id",
  "request_id",
  "created_at",
  "endpoint",
  "status",
  "end",
  "error_type",
  "error_code",
  "error_message",
  "count",
  "key_id",
  "key_name",
  "owner",
  "owner_name",
  "model",
  "provider",
  "attempts",
  "fallback_used",
  "cache_hit",
  "streamed",
  "latency_ms",
  "time_to_first_token_ms",
  "prompt_tokens",
  "completion_tokens",
  "billed_usd"
] as const satisfies ReadonlyArray<keyof Wire>

/** The list as JSON or CSV. */
const answer = (
  requests: Requests["Service"],
  sent: Sent,
  of: Pick<RequestQuery, "ownerId">
): Effect.Effect<HttpServerResponse.HttpServerResponse | ReturnType<typeof listOf>, GatewayError> => {
  const query = { ...queryOf(sent), ...of }
  return sent.format === "csv"
    ? csvResponse({
        columns,
        name: "requests",
        read: (cursor) =>
          Effect.map(
            requests.list({ ...query, cursor, limit: query.sort === undefined ? CSV_PAGE : query.limit }),
            ({ names, nextCursor, rows }) => ({
              rows: rows.map((row) => wireOf(row, names)),
              nextCursor
            })
          )
      })
    : Effect.map(requests.list(query), listOf)
}

interface Sent {
  readonly format: "json" | "csv"
  readonly limit: number
  readonly cursor?: string
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
  readonly key?: string
  readonly model?: string
  readonly status?: number
  readonly type?: string
  readonly end?: RequestEnd
  readonly request_id?: string
  readonly generation_id?: string
  readonly provider?: string
  readonly fallback?: "true"
  readonly cache_hit?: "true"
  readonly q?: string
  readonly sort: "newest" | "cost" | "latency"
}

const queryOf = (sent: Sent): RequestQuery => ({
  limit: sent.limit,
  cursor: sent.cursor ?? null,
  ...(sent.from === undefined ? {} : { fromMs: DateTime.toEpochMillis(sent.from) }),
  ...(sent.to === undefined ? {} : { toMs: DateTime.toEpochMillis(sent.to) }),
  ...(sent.key === undefined ? {} : { keyId: sent.key }),
  ...(sent.model === undefined ? {} : { model: sent.model }),
  ...(sent.status === undefined ? {} : { status: sent.status }),
  ...(sent.type === undefined ? {} : { errorType: sent.type }),
  ...(sent.end === undefined ? {} : { end: sent.end }),
  ...(sent.request_id === undefined ? {} : { requestId: sent.request_id }),
  ...(sent.generation_id === undefined ? {} : { generationId: sent.generation_id }),
  ...(sent.provider === undefined ? {} : { provider: sent.provider }),
  ...(sent.fallback === undefined ? {} : { fallbackUsed: true }),
  ...(sent.cache_hit === undefined ? {} : { cacheHit: true }),
  ...(sent.q === undefined || sent.q.trim() === "" ? {} : { search: sent.q.trim() }),
  ...(sent.sort === "newest" ? {} : { sort: sent.sort })
})

const listOf = ({ names, nextCursor, rows }: RequestPage) => ({
  object: "list" as const,
  data: rows.map((row) => wireOf(row, names)),
  has_more: nextCursor !== null,
  next_cursor: nextCursor
})

type Names = RequestPage["names"]

const wireOf = (row: RequestRow, names: Names): Wire =>
  row._tag === "Generation" ? generationRow(row.generation, names) : refusalRow(row.refusal, names)

const peopleOf = ({ keyId, ownerId }: Pick<Refusal, "keyId" | "ownerId">, names: Names) => ({
  key_id: keyId,
  key_name: keyId === null ? null : (names.get(keyId) ?? null),
  owner: ownerId,
  owner_name: ownerId === null ? null : (names.get(ownerId) ?? null)
})

const endOf = ({ cancelled, errorType }: Generation): RequestEnd =>
  errorType !== null ? "failed" : cancelled ? "cancelled" : "succeeded"

const generationRow = (generation: Generation, names: Names): Wire => ({
  object: "generation",
  id: generation.id,
  request_id: generation.request?.id ?? null,
  created_at: new Date(generation.createdAtMs).toISOString(),
  endpoint: generation.request?.endpoint ?? null,
  status: generation.request?.status ?? null,
  end: endOf(generation),
  error_type: generation.errorType,
  error_code: null,
  error_message: null,
  count: 1,
  ...peopleOf(generation, names),
  model: generation.model === "" ? null : generation.model,
  provider: generation.provider === "" ? null : generation.provider,
  attempts: generation.attempts.length,
  fallback_used: generation.fallbackUsed,
  cache_hit: generation.cacheHit,
  streamed: generation.streamed,
  latency_ms: generation.latencyMs,
  time_to_first_token_ms: generation.timeToFirstTokenMs,
  prompt_tokens: generation.usage.promptTokens,
  completion_tokens: generation.usage.completionTokens,
  billed_usd: usdFromNano(generation.cost.billedNano)
})

const refusalRow = (refusal: Refusal, names: Names): Wire => ({
  object: "refusal",
  id: refusal.id,
  request_id: refusal.requestId,
  created_at: new Date(refusal.createdAtMs).toISOString(),
  endpoint: refusal.endpoint,
  status: refusal.status,
  end: "refused",
  error_type: refusal.type,
  error_code: refusal.code,
  error_message: refusal.message,
  count: refusal.count,
  ...peopleOf(refusal, names),
  model: refusal.model,
  provider: null,
  attempts: 0,
  fallback_used: false,
  cache_hit: false,
  streamed: null,
  latency_ms: null,
  time_to_first_token_ms: null,
  prompt_tokens: 0,
  completion_tokens: 0,
  billed_usd: 0
})

export const layers = Layer.merge(ofAdmins, ofUsers)
