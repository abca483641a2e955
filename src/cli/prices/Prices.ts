/**
 * `tollgate prices refresh`: fetches the signed list of prices that the settings name, shows what
 * it would change, and keeps it where the gateway reads it. Nothing is ever fetched unasked.
 */
import { Effect, Stdio } from "effect"
import { Command, Prompt } from "effect/cli"
import { ChangesFound } from "../Failure.ts"
import { switchFlag } from "../Flags.ts"
import { Json } from "../Globals.ts"
import { answer } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { page, table } from "../Table.ts"
import type { PriceChange } from "../../settings/PriceRefresh.ts"

const price = (before: number | null, after: number | null): string =>
  before === after ? String(after ?? "-") : `${before ?? "-"} → ${after ?? "-"}`

const differences = (changes: ReadonlyArray<PriceChange>) =>
  table(
    ["PROVIDER", "MODEL", "PROMPT", "COMPLETION", "CACHED PROMPT"],
    changes.map(({ after, before, model, provider }) => [
      provider,
      model,
      price(before.prompt, after.prompt),
      price(before.completion, after.completion),
      price(before.cached_prompt, after.cached_prompt)
    ]),
    "No price of a model that this gateway serves changes."
  )

const APPLIED = "Applied. A running gateway takes the prices with the next reload (SIGHUP) or start."

/** Whether a person at the terminal agrees. Elsewhere nobody can be asked. */
const isAgreed = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  if ((yield* Json) || !(yield* stdio.stdinIsTerminal) || !(yield* stdio.stdoutIsTerminal)) return false
  return yield* Effect.orElseSucceed(Prompt.run(Prompt.Confirm({ message: "Apply these prices?" })), () => false)
})

const refresh = Command.make(
  "refresh",
  { yes: switchFlag("yes", "Apply without asking") },
  Effect.fnUntraced(function* ({ yes }) {
    const { accept, fetched } = yield* Effect.promise(() => import("./Refresh.ts"))
    const { file, plan, text } = yield* fetched.pipe(withProgress("fetching the prices"))
    const head = `Prices of ${plan.issuedAt}, in USD per million tokens; ${plan.served} of its models are served here:`
    const value = { object: "prices.refresh", issued_at: plan.issuedAt, served: plan.served, changes: plan.changes }
    if (plan.isCurrent) {
      return yield* answer({ ...value, applied: false }, `The prices of ${plan.issuedAt} are in force already.`)
    }
    if (yes) {
      yield* accept(file, text)
      return yield* answer({ ...value, applied: true }, page(head, "", differences(plan.changes), "", APPLIED))
    }
    yield* answer({ ...value, applied: false }, page(head, "", differences(plan.changes)))
    if (!(yield* isAgreed)) return yield* new ChangesFound()
    yield* accept(file, text)
    yield* answer(value, APPLIED)
  })
).pipe(
  Command.withDescription("Fetch the signed list of prices of the settings, show the differences and apply them"),
  Command.withExamples([
    { command: "tollgate prices refresh", description: "At a terminal it asks before it applies" },
    { command: "tollgate prices refresh --yes" }
  ])
)

export const prices = Command.make("prices").pipe(
  Command.withDescription("Prices of vendors' models, from a signed list"),
  Command.withSubcommands([refresh])
)
