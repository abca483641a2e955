/** `tollgate webhooks`: the webhooks, the events that none accepted, and sending those again. */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { switchFlag } from "../Flags.ts"
import { connect } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import { count, moment } from "../Figures.ts"
import { isCutOf } from "../Named.ts"
import { answer } from "../Output.ts"
import { readAll } from "../Pages.ts"
import { withProgress } from "../Progress.ts"
import { type Cell, table } from "../Table.ts"

const PAGE = 100

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const { adminWebhooks } = yield* connect("adminKey")
    const body = yield* adminWebhooks.list().pipe(withProgress("reading webhooks"))
    const rows = body.data.map((hook): ReadonlyArray<Cell> => [
      hook.url,
      count(hook.pending),
      count(hook.delivered),
      hook.dead > 0 ? { text: count(hook.dead), style: "red" } : "0",
      moment(hook.last_delivered_at),
      hook.last_error ?? "-"
    ])
    const head = ["WEBHOOK", "WAITING", "DELIVERED", "GIVEN UP", "LAST (UTC)", "LAST ERROR"]
    yield* answer(body, table(head, rows, "There are no webhooks."))
  })
).pipe(
  Command.withDescription("List the webhooks, with what waits and what failed in the last day"),
  Command.withAlias("ls"),
  Command.withExamples([{ command: "tollgate webhooks list" }])
)

const deadLetters = Command.make(
  "dead-letters",
  {},
  Effect.fnUntraced(function* () {
    const { adminWebhooks } = yield* connect("adminKey")
    const data = yield* readAll((cursor) => adminWebhooks.deadLetters({ query: { limit: PAGE, ...cursor } })).pipe(
      withProgress("reading events")
    )
    const rows = data.map(({ attempts, failed_at, id, last_error, retried_at, type, url }): ReadonlyArray<Cell> => [
      moment(failed_at),
      type,
      url,
      count(attempts),
      last_error,
      moment(retried_at),
      id
    ])
    const head = ["GIVEN UP (UTC)", "EVENT", "WEBHOOK", "ATTEMPTS", "LAST ERROR", "SENT AGAIN", "ID"]
    yield* answer({ object: "list", data }, table(head, rows, "There are no undelivered events."))
  })
).pipe(
  Command.withDescription("List the events that no webhook accepted, newest first"),
  Command.withExamples([{ command: "tollgate webhooks dead-letters" }])
)

const retry = Command.make(
  "retry",
  {
    id: Argument.String("id").pipe(
      Argument.withDescription("The event's id, `dlv_...`, also as a table cut it"),
      Argument.optional
    ),
    all: switchFlag("all", "All of them")
  },
  Effect.fnUntraced(function* ({ all, id }) {
    if (all === Option.isSome(id)) {
      return yield* new CommandFailed({ code: "usage", message: "Write the id of one event, or --all." })
    }
    const { adminWebhooks } = yield* connect("adminKey")
    if (Option.isNone(id)) {
      const done = yield* adminWebhooks.retryAll({ payload: {} }).pipe(withProgress("sending events"))
      const left = done.left === 0 ? "" : ` ${count(done.left)} are not: their webhook is gone, or its queue is full.`
      return yield* answer(done, `${count(done.retried)} events are sent again.${left}`)
    }
    const letters = yield* readAll((cursor) => adminWebhooks.deadLetters({ query: { limit: PAGE, ...cursor } }))
    const found = letters.filter((letter) => isCutOf(id.value, letter.id))
    const [first] = found
    if (first === undefined || found.length > 1) {
      return yield* new CommandFailed({
        code: "refused",
        message:
          first === undefined
            ? `There is no undelivered event "${id.value}".`
            : `"${id.value}" stands for ${found.length} events.`,
        remedy: "See `tollgate webhooks dead-letters`."
      })
    }
    const retried = yield* adminWebhooks
      .retry({ params: { dead_letter_id: first.id } })
      .pipe(withProgress("sending the event"))
    yield* answer(retried, `${retried.id} (${retried.type}) is sent again to ${retried.url}.`)
  })
).pipe(
  Command.withDescription("Send an event that no webhook accepted again"),
  Command.withExamples([{ command: "tollgate webhooks retry --all" }])
)

export const webhooks = Command.make("webhooks").pipe(
  Command.withDescription("List webhooks and undelivered events, and send those again"),
  Command.withSubcommands([list, deadLetters, retry])
)
