/**
 * `tollgate usage`: usage and cost of a key, or of all keys with `--all`. `tollgate key`: the key
 * itself and its remaining budget.
 */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { switchFlag } from "./Flags.ts"
import type { UsageReport } from "../api/Usage.ts"
import { connect } from "./Connection.ts"
import { CommandFailed } from "./Failure.ts"
import { count, usd } from "./Figures.ts"
import { describeKey } from "./admin/KeyPage.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { type Page, page, table } from "./Table.ts"
import { isoFrom, momentFlag } from "./When.ts"

type Group = UsageReport["data"][number]

const idOf = (group: Group, by: UsageReport["group_by"]): string => group[by] ?? `(no ${by})`

type Names = ReadonlyMap<string, string>

/** The names of the keys or owners that a report has beside their ids. */
const namesOf = ({ data }: UsageReport): Names =>
  new Map(
    data.flatMap(({ key, key_name, owner, owner_name }) => {
      const [id, name] = [key ?? owner, key_name ?? owner_name]
      return typeof id === "string" && typeof name === "string" ? [[id, name] as const] : []
    })
  )

/** CSV comes only where it is asked for. */
const asJson = <A>(answered: A | string): Effect.Effect<A> =>
  typeof answered === "string" ? Effect.die(new Error("a report came as CSV")) : Effect.succeed(answered)

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
    all: switchFlag("all", "Usage of all keys; needs the admin key"),
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
      const { adminUsage } = yield* connect("adminKey")
      const report = yield* adminUsage
        .read({ query: { ...span, group_by: by } })
        .pipe(withProgress("reading usage"), Effect.flatMap(asJson))
      return yield* answer(report, rendered(report, namesOf(report)))
    }
    if (by === "owner" || by === "provider") {
      return yield* new CommandFailed({
        code: "usage",
        message: `Grouping by ${by} is only available for all keys: add --all.`
      })
    }
    const { usage } = yield* connect("apiKey")
    const report = yield* usage
      .read({ query: { ...span, group_by: by } })
      .pipe(withProgress("reading usage"), Effect.flatMap(asJson))
    yield* answer(report, rendered(report, namesOf(report)))
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
