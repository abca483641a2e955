/**
 * The list of requests as CSV: a heading and a row for each request, in the order of the list.
 * Pages are read as the client takes them, so the memory is bounded whatever the size. A cell that
 * a spreadsheet would take for a formula begins with an apostrophe. If a store fails in between,
 * the last row says so.
 */
import { Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { type RequestRow } from "../../api/Requests.ts"
import { type GatewayError } from "../../domain/Errors.ts"

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
] as const satisfies ReadonlyArray<keyof RequestRow>

const INCOMPLETE = "incomplete: a store did not answer\r\n"

/** What spreadsheets take for the beginning of a formula. */
const formula = /^[=+\-@\t\r]/

const cellOf = (value: string | number | boolean | null): string => {
  if (typeof value !== "string") return value === null ? "" : String(value)
  const safe = formula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const lineOf = (row: RequestRow): string => `${columns.map((column) => cellOf(row[column])).join(",")}\r\n`

export interface CsvPage {
  readonly rows: ReadonlyArray<RequestRow>
  readonly nextCursor: string | null
}

/** `read`: the page after a cursor. The first page is read before the response begins. */
export const csvResponse = (read: (cursor: string | null) => Effect.Effect<CsvPage, GatewayError>) =>
  Effect.map(read(null), (first) => {
    const textOf = ({ rows }: CsvPage): string => rows.map(lineOf).join("")
    const rest = Stream.paginate(first.nextCursor, (cursor) =>
      cursor === null
        ? Effect.succeed([[], Option.none()] as const)
        : Effect.match(read(cursor), {
            onFailure: () => [[INCOMPLETE], Option.none<string | null>()] as const,
            onSuccess: (page) =>
              [
                [textOf(page)],
                page.nextCursor === null ? Option.none<string | null>() : Option.some(page.nextCursor)
              ] as const
          })
    )
    const heading = `${columns.join(",")}\r\n${textOf(first)}`
    return HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.succeed(heading), rest)), {
      contentType: "text/csv; charset=utf-8",
      headers: { "content-disposition": 'attachment; filename="requests.csv"' }
    })
  })
