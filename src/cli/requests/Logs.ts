/** `tollgate logs`: the last requests, and with `-f` each further one when it has ended. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { switchFlag } from "../Flags.ts"
import { Json } from "../Globals.ts"
import { Look } from "../Look.ts"
import { oneLine, write, writeError } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { lines } from "../Table.ts"
import { filters, resolved, typedQuery } from "./Filters.ts"
import { follow } from "./Follow.ts"
import { logCells } from "./Rows.ts"
import { type RequestPage, source } from "./Source.ts"

const PAGE = 100

export const logs = Command.make(
  "logs",
  {
    follow: switchFlag("follow", "Show each further request when it has ended, until Ctrl-C").pipe(Flag.withAlias("f")),
    lines: Flag.Int("lines").pipe(
      Flag.withAlias("n"),
      Flag.withDescription("The last requests to begin with, 0 to 100. Default: 10"),
      Flag.filter(
        (lines) => lines >= 0 && lines <= PAGE,
        (lines) => `Write a number from 0 to ${PAGE}, not ${lines}`
      ),
      Flag.withDefault(10)
    ),
    ...filters
  },
  Effect.fnUntraced(function* ({ follow: isFollowing, lines: before, ...given }) {
    const typed = typedQuery(given)
    const { client, list } = yield* source(typed)
    const query = yield* resolved(typed, client)
    const isJson = yield* Json
    const look = yield* Look
    const onRequests = (entries: RequestPage["data"]) =>
      write(
        isJson
          ? entries.map(({ entry }) => `${JSON.stringify(entry)}\n`).join("")
          : `${lines(entries.map(({ row }) => logCells(row)))(look)}\n`
      )
    if (!isFollowing) {
      const { data } = yield* list(query, Math.max(before, 1), {}).pipe(withProgress("reading requests"))
      const last = data.slice(0, before).toReversed()
      return yield* last.length === 0 ? Effect.void : onRequests(last)
    }
    return yield* follow({
      list,
      query,
      before,
      onRequests,
      onFailure: (message, pauseSeconds) =>
        writeError(`${look.paintError("yellow", "tollgate:")} ${oneLine(message)} Trying again in ${pauseSeconds} s.\n`)
    })
  })
).pipe(
  Command.withDescription("Show the last requests as lines, oldest first; -f follows further ones"),
  Command.withExamples([
    { command: "tollgate logs -f" },
    { command: "tollgate logs -f --end failed --json", description: "One JSON object a line" }
  ])
)
