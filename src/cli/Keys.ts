/**
 * `tollgate keys`: manages API keys, with the admin key. A secret is printed only when it is
 * created.
 */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ApiKey } from "../api/Keys.ts"
import { Scope, Tier } from "../domain/Key.ts"
import { connect } from "./Connection.ts"
import { count, moment, usd } from "./Figures.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { facts, type Page, table } from "./Table.ts"

const PAGE = 1_000

const budgetOf = ({ monthly_budget_usd, usage }: ApiKey): string =>
  monthly_budget_usd === null
    ? `${usd(usage.month_spent_usd)} this month, no cap`
    : `${usd(usage.month_spent_usd)} of ${usd(monthly_budget_usd)} this month`

/** Describes a key as text. `secret`: present if it was just created. */
export const describeKey = (key: ApiKey, secret: string | null): Page =>
  facts([
    ["id", key.id],
    ["key", secret === null ? key.prefix : `${secret}   (shown only once)`],
    ["name", key.name],
    ["status", key.status],
    ["tier", key.tier],
    [
      "limits",
      `${count(key.rate_limits.requests_per_minute)} requests and ${count(key.rate_limits.tokens_per_minute)} tokens a minute, ${count(key.rate_limits.concurrency)} at once`
    ],
    ["spent", budgetOf(key)],
    ["models", key.allowed_models === null ? "all" : key.allowed_models.join(" ")],
    ["scopes", key.scopes.join(" ")],
    ["owner", key.owner],
    ["expires", key.expires_at === null ? null : moment(key.expires_at)],
    ["last used", key.last_used_at === null ? null : moment(key.last_used_at)]
  ])

const id = Argument.String("id").pipe(Argument.withDescription("The key's id, `key_...`, not its secret"))

const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("A name for the key")),
    tier: Flag.Literals("tier", Tier.literals).pipe(
      Flag.withDescription("Its rate limits"),
      Flag.withDefault("free" as const)
    ),
    budget: Flag.Finite("budget").pipe(
      Flag.withMetavar("<usd>"),
      Flag.withDescription("Monthly cap in USD. Default: the tier's"),
      Flag.optional
    ),
    models: Flag.String("model").pipe(
      Flag.withMetavar("<id>"),
      Flag.withDescription("An allowed model, or `author/*`. Repeatable. Default: all"),
      Flag.atLeast(0)
    ),
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("Accept models that this gateway does not know yet"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    ),
    scopes: Flag.Literals("scope", Scope.literals).pipe(
      Flag.withDescription("A scope of the key. Repeatable. Default: all"),
      Flag.atLeast(0)
    ),
    expires: Flag.Date("expires").pipe(Flag.withDescription("Expiry, in ISO 8601"), Flag.optional)
  },
  Effect.fnUntraced(function* ({ budget, expires, force, models, name, scopes, tier }) {
    const { keys } = yield* connect("adminKey")
    const issued = yield* keys
      .create({
        payload: {
          name,
          tier,
          ...(Option.isSome(budget) ? { monthly_budget_usd: budget.value } : {}),
          ...(models.length > 0 ? { allowed_models: models } : {}),
          ...(force ? { force } : {}),
          ...(scopes.length > 0 ? { scopes } : {}),
          ...(Option.isSome(expires) ? { expires_at: expires.value.toISOString() } : {})
        }
      })
      .pipe(withProgress("creating a key"))
    yield* answer(issued, describeKey(issued, issued.key))
  })
).pipe(
  Command.withDescription("Create a key and print its secret, which is shown only once"),
  Command.withExamples([{ command: "tollgate keys create ci --tier pro --budget 25 --model 'openai/*'" }])
)

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const { keys } = yield* connect("adminKey")
    const all = Effect.gen(function* () {
      const data: Array<ApiKey> = []
      let cursor: string | null = null
      do {
        const page: Effect.Success<ReturnType<typeof keys.list>> = yield* keys.list({
          query: { limit: PAGE, ...(cursor === null ? {} : { cursor }) }
        })
        data.push(...page.data)
        cursor = page.next_cursor
      } while (cursor !== null)
      return data
    })
    const data = yield* all.pipe(withProgress("reading keys"))
    const rows = data.map((key) => [
      key.id,
      key.prefix,
      key.status,
      key.tier,
      usd(key.usage.month_spent_usd),
      key.monthly_budget_usd === null ? "-" : usd(key.monthly_budget_usd),
      moment(key.last_used_at),
      key.name
    ])
    const head = ["ID", "KEY", "STATUS", "TIER", "SPENT", "BUDGET", "LAST USED", "NAME"]
    yield* answer({ object: "list", data }, table(head, rows, "There are no keys."))
  })
).pipe(
  Command.withDescription("List all keys, newest first"),
  Command.withAlias("ls"),
  Command.withExamples([{ command: "tollgate keys list" }])
)

const rotate = Command.make(
  "rotate",
  {
    id,
    grace: Flag.Int("grace").pipe(
      Flag.withMetavar("<seconds>"),
      Flag.withDescription("How long the old secret stays valid. Default: 0"),
      Flag.withDefault(0)
    )
  },
  Effect.fnUntraced(function* ({ grace, id }) {
    const { keys } = yield* connect("adminKey")
    const issued = yield* keys
      .rotate({ params: { key_id: id }, payload: { grace_seconds: grace } })
      .pipe(withProgress("rotating the key"))
    yield* answer(issued, describeKey(issued, issued.key))
  })
).pipe(
  Command.withDescription("Give a key a new secret and print it, which is shown only once"),
  Command.withExamples([
    { command: "tollgate keys rotate key_0123 --grace 86400", description: "The old secret works one more day" }
  ])
)

const revoke = Command.make(
  "revoke",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    const { keys } = yield* connect("adminKey")
    const revoked = yield* keys.revoke({ params: { key_id: id } }).pipe(withProgress("revoking the key"))
    yield* answer(revoked, `${revoked.id} (${revoked.name}) is revoked permanently.`)
  })
).pipe(
  Command.withDescription("Revoke a key permanently"),
  Command.withExamples([{ command: "tollgate keys revoke ci" }])
)

export const keys = Command.make("keys").pipe(
  Command.withDescription("Create, list, rotate and revoke API keys"),
  Command.withSubcommands([create, list, rotate, revoke])
)
