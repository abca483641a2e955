/**
 * Where requests are read: with the admin key those of all keys, refused ones too; with an API key
 * the key's own generations.
 */
import { Effect } from "effect"
import type { GenerationRecord } from "../../api/Generations.ts"
import type { RequestRow } from "../../api/Requests.ts"
import type { TollgateError, TollgateShape } from "../../client/Client.ts"
import { connectAs } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import type { Cursor } from "../Pages.ts"

/** The filters of the API. */
export interface Query {
  readonly format?: "csv"
  readonly from?: string
  readonly to?: string
  readonly key?: string
  readonly user?: string
  readonly model?: string
  readonly provider?: string
  readonly status?: number
  readonly type?: string
  readonly end?: RequestRow["end"]
  readonly request_id?: string
  readonly generation_id?: string
  readonly fallback?: "true"
  readonly cache_hit?: "true"
  readonly q?: string
}

/** What a table needs of a request. What a key does not see of its own requests is null. */
export type Row = Pick<
  RequestRow,
  | "id"
  | "created_at"
  | "status"
  | "end"
  | "error_type"
  | "error_message"
  | "count"
  | "key_id"
  | "key_name"
  | "owner_name"
  | "model"
  | "provider"
  | "attempts"
  | "fallback_used"
  | "cache_hit"
  | "latency_ms"
  | "prompt_tokens"
  | "completion_tokens"
  | "billed_usd"
>

export interface RequestPage {
  /** The API's own body. */
  readonly body: unknown
  readonly data: ReadonlyArray<{ readonly row: Row; readonly entry: unknown }>
  readonly next_cursor: string | null
}

export interface Source {
  readonly client: TollgateShape
  readonly isAdmin: boolean
  readonly list: (query: Query, limit: number, cursor: Cursor) => Effect.Effect<RequestPage, TollgateError>
}

const rowOf = (record: GenerationRecord): Row => ({
  ...record,
  end: record.cancelled ? "cancelled" : record.error_type === null ? "succeeded" : "failed",
  error_message: null,
  count: 1,
  key_id: null,
  key_name: null,
  owner_name: null,
  attempts: record.attempts.length,
  prompt_tokens: record.usage.prompt_tokens,
  completion_tokens: record.usage.completion_tokens,
  billed_usd: record.cost.billed_usd
})

/** The filters of a key's own generations. */
const ownFilters = new Set(["from", "to", "model"])

const ownOf = ({ from, model, to }: Query) => ({
  ...(from === undefined ? {} : { from }),
  ...(model === undefined ? {} : { model }),
  ...(to === undefined ? {} : { to })
})

export const source = Effect.fnUntraced(function* (query: Query) {
  const { client, isAdmin } = yield* connectAs
  if (isAdmin) {
    return {
      client,
      isAdmin,
      list: (query, limit, cursor) =>
        client.adminRequests
          .list({ query: { ...query, limit, ...cursor } })
          .pipe(
            Effect.map((body) =>
              typeof body === "string"
                ? { body, data: [], next_cursor: null }
                : { body, data: body.data.map((row) => ({ row, entry: row })), next_cursor: body.next_cursor }
            )
          )
    } satisfies Source as Source
  }
  const refused = Object.keys(query).find((name) => !ownFilters.has(name))
  if (refused !== undefined) {
    return yield* new CommandFailed({
      code: "usage",
      message: `With an API key the list has the key's own generations, by --from, --to and --model; not by ${refused}.`,
      remedy: "Set --admin-key or TOLLGATE_ADMIN_KEY to list all requests."
    })
  }
  return {
    client,
    isAdmin,
    list: (query, limit, cursor) =>
      client.generations.list({ query: { ...ownOf(query), limit, ...cursor } }).pipe(
        Effect.map((body) => ({
          body,
          data: body.data.map((record) => ({ row: rowOf(record), entry: record })),
          next_cursor: body.next_cursor
        }))
      )
  } satisfies Source as Source
})
