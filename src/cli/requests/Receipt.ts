/**
 * `tollgate receipt`: what one request did, by the id of its generation or refusal, or by its
 * `X-Request-Id`: attempts with their times, cost by line, and their sums.
 */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import type { TollgateError, TollgateShape } from "../../client/Client.ts"
import { CommandFailed } from "../Failure.ts"
import { isCutOf } from "../Named.ts"
import { answer } from "../Output.ts"
import { readPages } from "../Pages.ts"
import { withProgress } from "../Progress.ts"
import type { Page } from "../Table.ts"
import { receiptPage, refusalPage } from "./ReceiptPage.ts"
import { type Query, source, type Source } from "./Source.ts"

/** A cut id is looked for among as many of the last requests. */
const SEARCHED = 1_000
const PAGE = 100

const whole = /^(gen|ref)_[0-9a-f]{32}$/

const missing = (text: string) =>
  new CommandFailed({
    code: "refused",
    message: `There is no request "${text}".`,
    remedy: "See `tollgate generations`; a cut id is looked for among the last 1,000 requests."
  })

/** The requests whose id is cut to `text`. */
const searched = Effect.fnUntraced(function* (list: Source["list"], text: string) {
  const { data } = yield* readPages((cursor) => list({}, PAGE, cursor), SEARCHED)
  const found = data.filter(({ row }) => isCutOf(text, row.id))
  if (found.length < 2) return found[0]?.row.id ?? null
  return yield* new CommandFailed({
    code: "refused",
    message: `"${text}" stands for ${found.length} requests: ${found
      .slice(0, 5)
      .map(({ row }) => row.id)
      .join(", ")}.`,
    remedy: "Write more of the id."
  })
})

/** The rows of one request, which may stand under its own id or under its `X-Request-Id`. */
const rowsOf = Effect.fnUntraced(function* ({ adminRequests }: TollgateShape, query: Query) {
  const found = yield* adminRequests.list({ query: { ...query, limit: PAGE } })
  return typeof found === "string" ? [] : found.data
})

const ofAdmin = Effect.fnUntraced(function* (client: TollgateShape, list: Source["list"], text: string) {
  const byId = whole.test(text) ? yield* rowsOf(client, { q: text }) : yield* rowsOf(client, { request_id: text })
  const cut = byId.length > 0 ? null : yield* searched(list, text)
  const rows = cut === null ? byId : yield* rowsOf(client, { q: cut })
  const row = rows[0]
  if (row === undefined) return yield* missing(text)
  if (row.object === "refusal") return { value: row, page: refusalPage(row) }
  const receipt = yield* client.adminGenerations.get({ params: { generation_id: row.id } })
  return { value: receipt, page: receiptPage(receipt, row) }
})

const ofKey = Effect.fnUntraced(function* ({ generations }: TollgateShape, list: Source["list"], text: string) {
  const id = whole.test(text) ? text : yield* searched(list, text)
  if (id === null) return yield* missing(text)
  const receipt = yield* generations.get({ params: { generation_id: id } })
  return { value: receipt, page: receiptPage(receipt, null) }
})

interface Found {
  /** The API's own body. */
  readonly value: unknown
  readonly page: Page
}

const found = ({ client, isAdmin, list }: Source, text: string): Effect.Effect<Found, CommandFailed | TollgateError> =>
  isAdmin ? ofAdmin(client, list, text) : ofKey(client, list, text)

export const receipt = Command.make(
  "receipt",
  {
    id: Argument.String("id").pipe(
      Argument.withDescription("`gen_...`, `ref_...`, also as a table cut it; with the admin key an X-Request-Id, too")
    )
  },
  Effect.fnUntraced(function* ({ id }) {
    const { client, isAdmin, list } = yield* source({})
    const { page, value } = yield* Effect.suspend(() => found({ client, isAdmin, list }, id)).pipe(
      withProgress("reading the receipt")
    )
    yield* answer(value, page)
  })
).pipe(
  Command.withDescription("Show what one request did: its attempts, their times, and its cost by line"),
  Command.withExamples([
    { command: "tollgate receipt gen_01a2c7be3f1d4b0f8a55a3ce4f9d7b10" },
    { command: "tollgate receipt req_01a2c7be3f1d4b0f8a55a3ce4f9d7b10 --json", description: "By its X-Request-Id" }
  ])
)
