/** `tollgate users`: lists users, and changes their role, status and grants. */
import { Effect, Option, Predicate } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { limitFlag } from "../Flags.ts"
import type { Account } from "../../api/signin/Users.ts"
import { Scope, Tier } from "../../domain/Key.ts"
import { Role } from "../../domain/User.ts"
import { connect } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import { count, moment, usd } from "../Figures.ts"
import { findUser } from "../Named.ts"
import { answer } from "../Output.ts"
import { readPages } from "../Pages.ts"
import { withProgress } from "../Progress.ts"
import { type Cell, facts, type Page, page, table } from "../Table.ts"
import { keyTable } from "./KeyPage.ts"

const PAGE = 1_000

const styles = { active: "green", suspended: "red" } as const

const capOf = (usdOrNull: number | null): string => (usdOrNull === null ? "no cap" : usd(usdOrNull))

const describe = (user: Account): Page =>
  facts([
    ["id", user.id],
    ["email", user.email],
    ["phone", user.phone],
    ["role", user.role],
    ["status", { text: user.status, style: styles[user.status] }],
    ["tier", user.grants.tier],
    ["budget", capOf(user.grants.monthly_budget_usd)],
    ["scopes", user.grants.scopes.join(" ")],
    ["created", moment(user.created_at)],
    ["signed in", user.last_sign_in_at === null ? null : moment(user.last_sign_in_at)]
  ])

const userArgument = Argument.String("user").pipe(
  Argument.withDescription("The user's address or number, or the id (also cut)")
)

const list = Command.make(
  "list",
  {
    search: Flag.String("search").pipe(
      Flag.withDescription("A part of the address or number, or the id"),
      Flag.optional
    ),
    limit: limitFlag("The most users. Default: all").pipe(Flag.optional)
  },
  Effect.fnUntraced(function* ({ limit, search }) {
    const { users } = yield* connect("adminKey")
    const most = Option.getOrElse(limit, () => Infinity)
    let total = 0
    const query = { limit: Math.min(most, PAGE), ...(Option.isSome(search) ? { search: search.value } : {}) }
    const read = readPages(
      (cursor) =>
        Effect.tap(users.list({ query: { ...query, ...cursor } }), (body) =>
          Effect.sync(() => void (total = body.total))
        ),
      most
    )
    const data = (yield* read.pipe(withProgress("reading users"))).data.slice(0, most)
    const isAll = data.length === total
    yield* answer(
      { object: "list", data, total, has_more: !isAll, next_cursor: null },
      page(
        table(
          ["ID", "USER", "ROLE", "STATUS", "TIER", "BUDGET", "CREATED", "SIGNED IN"],
          data.map((user): ReadonlyArray<Cell> => [
            user.id,
            user.email ?? user.phone ?? "-",
            user.role,
            { text: user.status, style: styles[user.status] },
            user.grants.tier,
            capOf(user.grants.monthly_budget_usd),
            moment(user.created_at),
            moment(user.last_sign_in_at)
          ]),
          "There are no such users."
        ),
        ...(isAll ? [] : [`${count(data.length)} of ${count(total)} users.`])
      )
    )
  })
).pipe(
  Command.withDescription("List and search users, newest first"),
  Command.withAlias("ls"),
  Command.withExamples([{ command: "tollgate users list --search example.com" }])
)

const show = Command.make(
  "show",
  { user: userArgument },
  Effect.fnUntraced(function* ({ user: text }) {
    const client = yield* connect("adminKey")
    const read = Effect.gen(function* () {
      const user = yield* findUser(client, text)
      const keys = yield* client.keys.list({ query: { owner: user.id, limit: PAGE } })
      return { user, keys: keys.data }
    })
    const { keys, user } = yield* read.pipe(withProgress("reading the user"))
    yield* answer(user, page(describe(user), "", keyTable(keys)))
  })
).pipe(
  Command.withDescription("Show one user and the user's keys"),
  Command.withExamples([{ command: "tollgate users show ada@example.com" }])
)

const edit = Command.make(
  "edit",
  {
    user: userArgument,
    role: Flag.Literals("role", Role.literals).pipe(Flag.withDescription("The role"), Flag.optional),
    tier: Flag.Literals("tier", Tier.literals).pipe(
      Flag.withDescription("The highest tier of the user's keys"),
      Flag.optional
    ),
    budget: Flag.String("budget").pipe(
      Flag.withMetavar("<usd|none>"),
      Flag.withDescription("Monthly cap in USD of all keys together, or none for no cap"),
      Flag.optional
    ),
    scopes: Flag.Literals("scope", Scope.literals).pipe(
      Flag.withDescription("A scope that the user's keys may have. Repeatable"),
      Flag.atLeast(0)
    )
  },
  Effect.fnUntraced(function* ({ budget, role, scopes, tier, user: text }) {
    const cap = Option.match(budget, {
      onNone: () => undefined,
      onSome: (given) => (given === "none" ? null : Number(given))
    })
    if (typeof cap === "number" && !(cap >= 0)) {
      return yield* new CommandFailed({ code: "usage", message: "--budget: write USD, or none." })
    }
    const grants = {
      ...(Option.isSome(tier) ? { tier: tier.value } : {}),
      ...(Predicate.isUndefined(cap) ? {} : { monthly_budget_usd: cap }),
      ...(scopes.length > 0 ? { scopes } : {})
    }
    const payload = {
      ...(Option.isSome(role) ? { role: role.value } : {}),
      ...(Object.keys(grants).length > 0 ? { grants } : {})
    }
    if (Object.keys(payload).length === 0) {
      return yield* new CommandFailed({
        code: "usage",
        message: "Nothing to change.",
        remedy: "See `tollgate users edit --help`."
      })
    }
    const client = yield* connect("adminKey")
    const changed = yield* findUser(client, text).pipe(
      Effect.flatMap(({ id }) => client.users.update({ params: { user_id: id }, payload })),
      withProgress("changing the user")
    )
    yield* answer(changed, describe(changed))
  })
).pipe(
  Command.withDescription("Change a user's role, and what the user's keys may at most have"),
  Command.withExamples([{ command: "tollgate users edit ada@example.com --tier pro --budget 100" }])
)

const changing = <Name extends "suspend" | "reactivate">(name: Name, description: string) =>
  Command.make(
    name,
    { user: userArgument },
    Effect.fnUntraced(function* ({ user: text }) {
      const client = yield* connect("adminKey")
      const status = name === "suspend" ? "suspended" : "active"
      const changed = yield* findUser(client, text).pipe(
        Effect.flatMap(({ id }) => client.users.update({ params: { user_id: id }, payload: { status } })),
        withProgress("changing the user")
      )
      yield* answer(changed, `${changed.email ?? changed.phone ?? text} (${changed.id}) is ${changed.status}.`)
    })
  ).pipe(
    Command.withDescription(description),
    Command.withExamples([{ command: `tollgate users ${name} ada@example.com` }])
  )

export const users = Command.make("users").pipe(
  Command.withDescription("List, show, change and suspend users"),
  Command.withSubcommands([
    list,
    show,
    edit,
    changing("suspend", "Suspend a user: sessions end, and the user's keys are refused"),
    changing("reactivate", "End a suspension")
  ])
)
