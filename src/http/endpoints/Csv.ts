/**
 * A list as CSV: a heading and a line for each entry, in the order of the list.
 * Pages are read as the client takes them, so the memory is bounded whatever the size. A cell that
 * a spreadsheet would take for a formula begins with an apostrophe. If a store fails in between,
 * the last row says so.
 */
import { Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { type GatewayError } from "../../domain/Errors.ts"

const INCOMPLETE = "incomplete: a store did not answer\r\n"

/** What spreadsheets take for the beginning of a formula. */
const formula = /^[=+\-@\t\r]/

type Cell = string | number | boolean | null

const cellOf = (value: Cell): string => {
  if (typeof value !== "string") return value === null ? "" : String(value)
  const safe = formula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export interface CsvPage<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly nextCursor: string | null
}

export interface Csv<Column extends string> {
  readonly columns: ReadonlyArray<Column>
  /** The file's name, without its ending. */
  readonly name: string
  /** The page after a cursor. The first page is read before the response begins. */
  readonly read: (cursor: string | null) => Effect.Effect<CsvPage<Readonly<Record<Column, Cell>>>, GatewayError>
}

export const csvResponse = <Column extends string>({ columns, name, read }: Csv<Column>) =>
  Effect.map(read(null), (first) => {
    const lineOf = (row: Readonly<Record<Column, Cell>>): string =>
      `${columns.map((column) => cellOf(row[column])).join(",")}\r\n`
    const textOf = ({ rows }: { readonly rows: ReadonlyArray<Readonly<Record<Column, Cell>>> }): string =>
      rows.map(lineOf).join("")
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
      headers: { "content-disposition": `attachment; filename="${name}.csv"` }
    })
  })
