/** `tollgate usage`: what a key has used and has left; with `--all`, what everybody has. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { type Overview } from "../api/Admin.ts"
import { connect } from "./Connection.ts"
import { count, share, usd } from "./Figures.ts"
import { described } from "./Keys.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { facts, table } from "./Table.ts"

const everybodys = ({ cache, keys, requests, spend_usd }: Overview): string =>
  [
    facts([
      ["spent today", usd(spend_usd.today)],
      ["this month", usd(spend_usd.month)],
      ["reserved", usd(spend_usd.reserved)],
      ["saved by cache", usd(cache.saved_usd)],
      ["requests", `${count(requests.last_24h)} in 24 h, ${count(requests.last_5m)} in 5 min`],
      ["errors", `${share(requests.error_rate)} in 24 h`],
      ["active keys", count(keys.active)]
    ]),
    "",
    table(
      ["MODEL, THIS MONTH", "REQUESTS", "SPENT"],
      spend_usd.by_model.map(({ model, requests, spend_usd }) => [model, count(requests), usd(spend_usd)]),
      "No model was used this month."
    )
  ].join("\n")

export const usage = Command.make(
  "usage",
  {
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Everybody's, by the admin key"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ all }) {
    if (all) {
      const { admin } = yield* connect("adminKey")
      const overview = yield* admin.overview().pipe(withProgress("reading the overview"))
      return yield* answer(overview, everybodys(overview))
    }
    const { ownKey } = yield* connect("apiKey")
    const key = yield* ownKey.get().pipe(withProgress("reading the key"))
    yield* answer(key, described(key, null))
  })
).pipe(Command.withDescription("Show what the key has used and has left"))
