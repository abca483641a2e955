/**
 * `tollgate usage`: usage and cost of a key, or of all keys with `--all`. `tollgate key`: the key
 * itself and its remaining budget.
 */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { UsageReport } from "../api/Usage.ts"
import type { TollgateShape } from "../client/Client.ts"
import { connect } from "./Connection.ts"
import { CommandFailed } from "./Failure.ts"
import { count, usd } from "./Figures.ts"
import { describeKey } from "./admin/KeyPage.ts"
import { Json } from "./Globals.ts"
import { answer } from "./Output.ts"
import { readAll } from "./Pages.ts"
import { withProgress } from "./Progress.ts"
import { type Page, page, table } from "./Table.ts"
import { isoFrom, momentFlag } from "./When.ts"

const PAGE = 1_000

type Group = UsageReport["data"][number]

const idOf = (group: Group, by: UsageReport["group_by"]): string => group[by] ?? "(no owner)"

type Names = ReadonlyMap<string, string>

/** The names of the keys or owners that a report lists by id. */
const namesOf = Effect.fnUntraced(function* ({ keys, users }: TollgateShape, { data, group_by }: UsageReport) {
  if (data.length === 0) return new Map<string, string>()
  const entries =
    group_by === "key"
      ? (yield* readAll((cursor) => keys.list({ query: { limit: PAGE, ...cursor } }))).map(
          ({ id, name }) => [id, name] as const
        )
      : group_by === "owner"
        ? (yield* readAll((cursor) => users.list({ query: { limit: PAGE, ...cursor } }))).map(
            ({ email, id, phone }) => [id, email ?? phone ?? id] as const
          )
        : []
  return new Map(entries)
})

const row = (name: string, figures: UsageReport["total"]): ReadonlyArray<string> => [
  name,
  count(figures.requests),
  count(figures.failed),
  count(figures.cache_hits),
  count(figures.prompt_tokens),
  count(figures.completion_tokens),
  usd(figures.billed_usd)
]

const rendered = ({ data, from, group_by, has_more, to, total }: UsageReport, names: Names): Page =>
  page(
    `From ${from.slice(0, 10)} to before ${to.slice(0, 10)}, UTC:`,
    table(
      [group_by.toUpperCase(), "REQUESTS", "FAILED", "CACHED", "PROMPT", "COMPLETION", "BILLED"],
      data.length === 0
        ? []
        : [
            ...data.map((group) => row(names.get(idOf(group, group_by)) ?? idOf(group, group_by), group)),
            row(has_more ? "total, with groups not shown" : "total", total)
          ],
      "no usage"
    )
  )

export const usage = Command.make(
  "usage",
  {
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Usage of all keys; needs the admin key"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    ),
    by: Flag.Literals("by", ["day", "model", "key", "owner", "provider"]).pipe(
      Flag.withDescription("What to group by; owner and provider only with --all"),
      Flag.withDefault("day" as const)
    ),
    from: momentFlag("from", "The first day, such as 2026-11-01. Default: the first of this month"),
    to: momentFlag("to", "The end, exclusive. Default: tomorrow")
  },
  Effect.fnUntraced(function* ({ all, by, from, to }) {
    const span = {
      ...(Option.isSome(from) ? { from: yield* isoFrom(from.value, "before") } : {}),
      ...(Option.isSome(to) ? { to: yield* isoFrom(to.value, "before") } : {})
    }
    if (all) {
      const client = yield* connect("adminKey")
      const isJson = yield* Json
      const read = Effect.gen(function* () {
        const report = yield* client.adminUsage.read({ query: { ...span, group_by: by } })
        return { report, names: isJson ? new Map<string, string>() : yield* namesOf(client, report) }
      })
      const { names, report } = yield* read.pipe(withProgress("reading usage"))
      return yield* answer(report, rendered(report, names))
    }
    if (by === "owner" || by === "provider") {
      return yield* new CommandFailed({
        code: "usage",
        message: `Grouping by ${by} is only available for all keys: add --all.`
      })
    }
    const { ownKey, usage } = yield* connect("apiKey")
    const report = yield* usage.read({ query: { ...span, group_by: by } }).pipe(withProgress("reading usage"))
    const names = by === "key" ? yield* Effect.map(ownKey.get(), ({ id, name }) => new Map([[id, name]])) : new Map()
    yield* answer(report, rendered(report, names))
  })
).pipe(
  Command.withDescription("Show the usage and cost of the key. Default: this month by day"),
  Command.withExamples([
    { command: "tollgate usage --by model" },
    { command: "tollgate usage --all --by owner --from 2026-11-01", description: "Of all keys, with the admin key" }
  ])
)

export const key = Command.make(
  "key",
  {},
  Effect.fnUntraced(function* () {
    const { ownKey } = yield* connect("apiKey")
    const key = yield* ownKey.get().pipe(withProgress("reading the key"))
    yield* answer(key, describeKey(key, null))
  })
).pipe(
  Command.withDescription("Show the key, its scopes and its remaining budget"),
  Command.withExamples([{ command: "tollgate key" }])
)
