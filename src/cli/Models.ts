/** `tollgate models`: the models that the key may use, with prices and providers. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { connect } from "./Connection.ts"
import { count, usd } from "./Figures.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { table } from "./Table.ts"

const TOKENS_OF_A_PRICE = 1_000_000

/** Converts a price per token. Rounds away errors below a nano-USD. */
const perMillion = (price: string): string => usd(Math.round(Number(price) * TOKENS_OF_A_PRICE * 1e9) / 1e9)

export const models = Command.make(
  "models",
  {},
  Effect.fnUntraced(function* () {
    const { models } = yield* connect("apiKey")
    const list = yield* models.list().pipe(withProgress("reading models"))
    const rows = list.data.map(({ context_length, id, pricing, providers }) => [
      id,
      count(context_length),
      perMillion(pricing.prompt),
      perMillion(pricing.completion),
      providers.map(({ slug, status }) => (status === "ok" ? slug : `${slug} (${status})`)).join(" ")
    ])
    const head = ["MODEL", "CONTEXT", "PROMPT/1M", "COMPLETION/1M", "PROVIDERS"]
    yield* answer(list, table(head, rows, "No available model is allowed for this key."))
  })
).pipe(
  Command.withDescription("List the models that the key may use"),
  Command.withExamples([
    { command: "tollgate models" },
    { command: "tollgate models --json", description: "With all prices and data policies" }
  ])
)
