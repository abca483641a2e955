/** The admin's endpoints of webhooks. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { type DeadLetterRecord } from "../../../api/Webhooks.ts"
import { WebhookAdmin } from "../../../gateway/admin/WebhookAdmin.ts"
import { guard } from "../../errors/ErrorResponse.ts"

type Letter = Effect.Success<ReturnType<WebhookAdmin["Service"]["retry"]>>

const momentOf = (ms: number): string => new Date(ms).toISOString()
const momentOrNull = (ms: number | null): string | null => (ms === null ? null : momentOf(ms))

/** User and password of an address are secrets. */
const shownUrl = (url: string): string => url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1(hidden)@")

const letterOf = (letter: Letter): DeadLetterRecord => ({
  id: letter.id,
  event_id: letter.eventId,
  type: letter.type,
  url: letter.url,
  body: letter.body,
  attempts: letter.attempts,
  last_error: letter.lastError,
  created_at: momentOf(letter.createdAtMs),
  failed_at: momentOf(letter.failedAtMs),
  retried_at: momentOrNull(letter.retriedAtMs)
})

const listOf = <Row>(data: ReadonlyArray<Row>, cursor: string | null) => ({
  object: "list" as const,
  data,
  has_more: cursor !== null,
  next_cursor: cursor
})

export const layer = HttpApiBuilder.group(
  Api,
  "adminWebhooks",
  Effect.fnUntraced(function* (handlers) {
    const webhooks = yield* WebhookAdmin
    return handlers
      .handle("list", () =>
        guard(
          Effect.map(webhooks.list, (states) => ({
            object: "list" as const,
            data: states.map(({ lastDeliveredMs, lastError, lastFailedMs, url, ...state }) => ({
              ...state,
              url: shownUrl(url),
              last_delivered_at: momentOrNull(lastDeliveredMs),
              last_failed_at: momentOrNull(lastFailedMs),
              last_error: lastError
            }))
          }))
        )
      )
      .handle("deliveries", ({ query: { cursor, ...query } }) =>
        guard(
          Effect.map(
            webhooks.deliveries({ ...query, cursor: cursor === undefined ? null : Number(cursor) }),
            ({ deliveries, nextCursor }) =>
              listOf(
                deliveries.map((delivery) => ({
                  id: String(delivery.position),
                  event_id: delivery.eventId,
                  type: delivery.type,
                  url: shownUrl(delivery.url),
                  state: delivery.state,
                  attempts: delivery.attempts,
                  last_error: delivery.lastError,
                  created_at: momentOf(delivery.createdAtMs),
                  updated_at: momentOf(delivery.updatedAtMs),
                  next_attempt_at: momentOrNull(delivery.nextAttemptMs)
                })),
                nextCursor === null ? null : String(nextCursor)
              )
          )
        )
      )
      .handle("deadLetters", ({ query }) =>
        guard(
          Effect.map(
            webhooks.deadLetters({ limit: query.limit, cursor: query.cursor ?? null }),
            ({ letters, nextCursor }) => listOf(letters.map(letterOf), nextCursor)
          )
        )
      )
      .handle("retry", ({ params }) => guard(Effect.map(webhooks.retry(params.dead_letter_id), letterOf)))
      .handle("retryAll", ({ payload }) => guard(webhooks.retryAll(payload?.url ?? null)))
  })
)
