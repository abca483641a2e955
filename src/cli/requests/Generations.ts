/** `tollgate generations`: requests, newest first, by the filters of the API. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { limitFlag, switchFlag } from "../Flags.ts"
import { CommandFailed } from "../Failure.ts"
import { Json } from "../Globals.ts"
import { answer, write } from "../Output.ts"
import { readPages } from "../Pages.ts"
import { withProgress } from "../Progress.ts"
import { page } from "../Table.ts"
import { filters, resolved, span, spanQuery, typedQuery } from "./Filters.ts"
import { requestTable } from "./Rows.ts"
import { source } from "./Source.ts"

/** The most that the API gives at once. */
const PAGE = 100

export const generations = Command.make(
  "generations",
  {
    ...filters,
    ...span,
    limit: limitFlag("The most rows. Default: 20").pipe(Flag.withDefault(20)),
    csv: switchFlag("csv", "All rows that match, as CSV; needs the admin key")
  },
  Effect.fnUntraced(function* ({ csv, from, limit, to, ...given }) {
    const typed = { ...typedQuery(given), ...(yield* spanQuery({ from, to })) }
    const { client, isAdmin, list } = yield* source(typed)
    const query = yield* resolved(typed, client)
    if (csv) {
      if (!isAdmin || (yield* Json)) {
        return yield* new CommandFailed({
          code: "usage",
          message: isAdmin ? "--csv and --json exclude each other." : "--csv needs the admin key."
        })
      }
      const { body } = yield* list({ ...query, format: "csv" }, PAGE, {}).pipe(withProgress("reading requests"))
      return yield* write(String(body))
    }
    const bodies: Array<unknown> = []
    const read = readPages(
      (cursor) =>
        Effect.tap(list(query, Math.min(limit, PAGE), cursor), ({ body }) => Effect.sync(() => void bodies.push(body))),
      limit
    )
    const { data, next } = yield* read.pipe(withProgress("reading requests"))
    const shown = data.slice(0, limit)
    const rest = next === null && shown.length === data.length ? [] : ["There are more: raise --limit."]
    yield* answer(
      // One page is the API's own body.
      bodies.length === 1
        ? bodies[0]
        : { object: "list", data: shown.map(({ entry }) => entry), has_more: rest.length > 0, next_cursor: null },
      page(requestTable(shown.map(({ row }) => row)), ...rest)
    )
  })
).pipe(
  Command.withDescription("List requests, newest first: all, refused ones too, or those of your API key"),
  Command.withShortDescription("List requests, newest first"),
  Command.withExamples([
    { command: "tollgate generations --from 2h --end failed" },
    { command: "tollgate generations --user ada@example.com --model openai/gpt-6 --limit 200" },
    { command: "tollgate generations --from 2026-11-01 --csv > november.csv", description: "Every row, as CSV" }
  ])
)
