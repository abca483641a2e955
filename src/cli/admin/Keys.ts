/**
 * `tollgate keys`: manages API keys, with the admin key. A secret is printed only when it is
 * created.
 */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { limitFlag } from "../Flags.ts"
import { connect } from "../Connection.ts"
import { count } from "../Figures.ts"
import { findKey, findUser } from "../Named.ts"
import { answer } from "../Output.ts"
import { readPages } from "../Pages.ts"
import { withProgress } from "../Progress.ts"
import { page } from "../Table.ts"
import { create, disable, edit, enable, keyArgument, revoke, rotate } from "./KeyChanges.ts"
import { describeKey, keyTable } from "./KeyPage.ts"

const PAGE = 1_000

const list = Command.make(
  "list",
  {
    search: Flag.String("search").pipe(
      Flag.withDescription("A part of the name, or the whole id or prefix"),
      Flag.optional
    ),
    owner: Flag.String("owner").pipe(
      Flag.withMetavar("<user>"),
      Flag.withDescription("A user's id or address"),
      Flag.optional
    ),
    status: Flag.Literals("status", ["active", "disabled", "expired", "revoked", "live"]).pipe(
      Flag.withDescription("Only keys with this status; live: active or disabled"),
      Flag.optional
    ),
    sort: Flag.Literals("sort", ["created", "name", "last_used", "expires", "spent"]).pipe(
      Flag.withDescription("Default: created"),
      Flag.optional
    ),
    order: Flag.Literals("order", ["asc", "desc"]).pipe(
      Flag.withDescription("Default: names and expiries ascending, the others descending"),
      Flag.optional
    ),
    limit: limitFlag("The most keys. Default: all").pipe(Flag.optional)
  },
  Effect.fnUntraced(function* ({ limit, order, owner, search, sort, status }) {
    const client = yield* connect("adminKey")
    const most = Option.getOrElse(limit, () => Infinity)
    const read = Effect.gen(function* () {
      const query = {
        limit: Math.min(most, PAGE),
        ...(Option.isSome(search) ? { search: search.value } : {}),
        ...(Option.isSome(owner) ? { owner: (yield* findUser(client, owner.value)).id } : {}),
        ...(Option.isSome(status) ? { status: status.value } : {}),
        ...(Option.isSome(sort) ? { sort: sort.value } : {}),
        ...(Option.isSome(order) ? { order: order.value } : {})
      }
      let total = 0
      const { data } = yield* readPages(
        (cursor) =>
          Effect.tap(client.keys.list({ query: { ...query, ...cursor } }), (body) =>
            Effect.sync(() => void (total = body.total))
          ),
        most
      )
      return { total, data: data.slice(0, most) }
    })
    const { data, total } = yield* read.pipe(withProgress("reading keys"))
    const isAll = data.length === total
    yield* answer(
      { object: "list", data, total, has_more: !isAll, next_cursor: null },
      page(keyTable(data), ...(isAll ? [] : [`${count(data.length)} of ${count(total)} keys.`]))
    )
  })
).pipe(
  Command.withDescription("List, search and sort all keys"),
  Command.withAlias("ls"),
  Command.withExamples([
    { command: "tollgate keys list --owner ada@example.com --status live" },
    { command: "tollgate keys list --sort spent --limit 20", description: "What costs most this month" }
  ])
)

const show = Command.make(
  "show",
  { key: keyArgument },
  Effect.fnUntraced(function* ({ key }) {
    const found = yield* findKey(yield* connect("adminKey"), key).pipe(withProgress("reading the key"))
    yield* answer(found, describeKey(found, null))
  })
).pipe(
  Command.withDescription("Show one key: its limits, its spending, its owner"),
  Command.withExamples([{ command: "tollgate keys show ci" }])
)

export const keys = Command.make("keys").pipe(
  Command.withDescription("List, create, change, rotate and revoke API keys"),
  Command.withSubcommands([list, show, create, edit, rotate, disable, enable, revoke])
)
