/** `tollgate audit`: changes of keys, users, grants and sessions, done or refused, newest first. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { limitFlag, switchFlag } from "../Flags.ts"
import type { AuditEventRecord } from "../../api/Audit.ts"
import { auditActions, auditOutcomes } from "../../domain/Audit.ts"
import { connect } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import { count } from "../Figures.ts"
import { Json } from "../Globals.ts"
import { answer, write } from "../Output.ts"
import { readPages } from "../Pages.ts"
import { withProgress } from "../Progress.ts"
import { span, spanQuery } from "../requests/Filters.ts"
import { type Cell, page, table } from "../Table.ts"

const PAGE = 100

const styles = { done: "green", refused: "yellow", failed: "red" } as const

const word = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const detailsOf = ({ count: times, details }: AuditEventRecord): string =>
  [
    ...Object.entries(details).map(
      ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`
    ),
    ...(times > 1 ? [`${count(times)} alike`] : [])
  ].join(", ")

const cellsOf = (event: AuditEventRecord): ReadonlyArray<Cell> => [
  event.created_at.slice(0, 19).replace("T", " "),
  event.action,
  { text: event.outcome, style: styles[event.outcome] },
  event.actor_name ?? event.actor_id ?? event.actor,
  event.target_name ?? event.target ?? "-",
  event.address ?? "-",
  detailsOf(event) === "" ? "-" : detailsOf(event)
]

export const audit = Command.make(
  "audit",
  {
    q: word("q", "An id or a network address, or a part of a key's name or a user's address"),
    action: Flag.Literals("action", auditActions).pipe(
      Flag.withDescription("What was changed, and how"),
      Flag.optional
    ),
    outcome: Flag.Literals("outcome", auditOutcomes).pipe(Flag.withDescription("How it ended"), Flag.optional),
    actor: word("actor", "The id of a user or key, or a kind of actor such as admin_key"),
    target: word("target", "The id of what was changed"),
    address: word("address", "A network address"),
    ...span,
    limit: limitFlag("The most rows. Default: 20").pipe(Flag.withDefault(20)),
    csv: switchFlag("csv", "All rows that match, as CSV")
  },
  Effect.fnUntraced(function* ({ action, actor, address, csv, from, limit, outcome, q, target, to }) {
    const { adminAudit } = yield* connect("adminKey")
    const query = {
      ...(yield* spanQuery({ from, to })),
      ...(Option.isSome(q) ? { q: q.value } : {}),
      ...(Option.isSome(action) ? { action: action.value } : {}),
      ...(Option.isSome(outcome) ? { outcome: outcome.value } : {}),
      ...(Option.isSome(actor) ? { actor: actor.value } : {}),
      ...(Option.isSome(target) ? { target: target.value } : {}),
      ...(Option.isSome(address) ? { address: address.value } : {})
    }
    if (csv && (yield* Json)) {
      return yield* new CommandFailed({ code: "usage", message: "--csv and --json exclude each other." })
    }
    if (csv) {
      const body = yield* adminAudit.list({ query: { ...query, format: "csv" } }).pipe(withProgress("reading events"))
      return yield* write(typeof body === "string" ? body : "")
    }
    const none = { object: "list" as const, data: [], has_more: false, next_cursor: null }
    const { data, next } = yield* readPages(
      (cursor) =>
        Effect.map(adminAudit.list({ query: { ...query, limit: Math.min(limit, PAGE), ...cursor } }), (body) =>
          typeof body === "string" ? none : body
        ),
      limit
    ).pipe(withProgress("reading events"))
    const shown = data.slice(0, limit)
    const hasMore = next !== null || shown.length < data.length
    yield* answer(
      { object: "list", data: shown, has_more: hasMore, next_cursor: next },
      page(
        table(
          ["TIME (UTC)", "ACTION", "OUTCOME", "ACTOR", "TARGET", "ADDRESS", "DETAILS"],
          shown.map(cellsOf),
          "There are no such events."
        ),
        ...(hasMore ? ["There are more: raise --limit."] : [])
      )
    )
  })
).pipe(
  Command.withDescription("List changes of keys, users, grants and sessions, newest first"),
  Command.withExamples([
    { command: "tollgate audit --from 7d --outcome refused" },
    { command: "tollgate audit --target key_01a2c7be3f1d4b0f8a55a3ce4f9d7b10 --csv > key.csv" }
  ])
)
