/** `tollgate usage`: what a key has used and spent; with `--all`, what everybody has. `tollgate key`: what the key is and has left. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { type UsageReport } from "../api/Usage.ts"
import { connect } from "./Connection.ts"
import { CommandFailed } from "./Failure.ts"
import { count, usd } from "./Figures.ts"
import { described } from "./Keys.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { table } from "./Table.ts"

const moment = (name: string, description: string) =>
  Flag.Date(name).pipe(Flag.withDescription(description), Flag.optional)

type Group = UsageReport["data"][number]

const nameOf = (group: Group, by: UsageReport["group_by"]): string => group[by] ?? "nobody"

const row = (name: string, figures: UsageReport["total"]): ReadonlyArray<string> => [
  name,
  count(figures.requests),
  count(figures.failed),
  count(figures.cache_hits),
  count(figures.prompt_tokens),
  count(figures.completion_tokens),
  usd(figures.billed_usd)
]

const told = ({ data, from, group_by, has_more, to, total }: UsageReport): string =>
  [
    `From ${from.slice(0, 10)} to before ${to.slice(0, 10)}, UTC:`,
    table(
      [group_by.toUpperCase(), "REQUESTS", "FAILED", "CACHED", "PROMPT", "COMPLETION", "BILLED"],
      data.length === 0
        ? []
        : [
            ...data.map((group) => row(nameOf(group, group_by), group)),
            row(has_more ? "total, with others" : "total", total)
          ],
      "nothing"
    )
  ].join("\n")

export const usage = Command.make(
  "usage",
  {
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Everybody's, by the admin key"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    ),
    by: Flag.Literals("by", ["day", "model", "key", "owner", "provider"]).pipe(
      Flag.withDescription("What to sum up by; owner and provider with --all only"),
      Flag.withDefault("day" as const)
    ),
    from: moment("from", "The first day, such as 2026-11-01; else the first of this month"),
    to: moment("to", "The day before which it ends; else tomorrow")
  },
  Effect.fnUntraced(function* ({ all, by, from, to }) {
    const span = {
      ...(Option.isSome(from) ? { from: from.value.toISOString() } : {}),
      ...(Option.isSome(to) ? { to: to.value.toISOString() } : {})
    }
    if (all) {
      const { adminUsage } = yield* connect("adminKey")
      const report = yield* adminUsage.read({ query: { ...span, group_by: by } }).pipe(withProgress("summing up"))
      return yield* answer(report, told(report))
    }
    if (by === "owner" || by === "provider") {
      return yield* new CommandFailed({
        code: "usage",
        message: `By ${by} there is everybody's usage only: add --all.`
      })
    }
    const { usage } = yield* connect("apiKey")
    const report = yield* usage.read({ query: { ...span, group_by: by } }).pipe(withProgress("summing up"))
    yield* answer(report, told(report))
  })
).pipe(Command.withDescription("Show what the key has used and spent, this month by day unless told"))

export const key = Command.make(
  "key",
  {},
  Effect.fnUntraced(function* () {
    const { ownKey } = yield* connect("apiKey")
    const key = yield* ownKey.get().pipe(withProgress("reading the key"))
    yield* answer(key, described(key, null))
  })
).pipe(Command.withDescription("Show what the key is, may do and has left"))
