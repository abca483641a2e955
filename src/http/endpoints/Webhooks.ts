/** The admin's endpoint of webhooks' dead letters. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { DeadLetters } from "../../gateway/admin/DeadLetters.ts"
import { guard } from "../errors/ErrorResponse.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "adminWebhooks",
  Effect.fnUntraced(function* (handlers) {
    const deadLetters = yield* DeadLetters
    return handlers.handle("deadLetters", ({ query }) =>
      guard(
        Effect.map(
          deadLetters.list({ limit: query.limit, cursor: query.cursor ?? null }),
          ({ letters, nextCursor }) => ({
            object: "list" as const,
            data: letters.map((letter) => ({
              id: letter.id,
              event_id: letter.eventId,
              type: letter.type,
              url: letter.url,
              body: letter.body,
              attempts: letter.attempts,
              last_error: letter.lastError,
              created_at: new Date(letter.createdAtMs).toISOString(),
              failed_at: new Date(letter.failedAtMs).toISOString()
            })),
            has_more: nextCursor !== null,
            next_cursor: nextCursor
          })
        )
      )
    )
  })
)
