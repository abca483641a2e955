/**
 * `GET /v1/admin/webhooks/dead-letters`: events that no webhook accepted, newest first, with the
 * body to send them again.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { eventTypes } from "../domain/Events.ts"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { AnsweredMoment as Moment } from "./schemas/Moments.ts"
import { cursor, limit } from "./schemas/Paging.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

export const DeadLetterRecord = Schema.Struct({
  id: Schema.String,
  event_id: Schema.String,
  type: Schema.Literals(eventTypes),
  url: Schema.String,
  /** The posted body. */
  body: Schema.String,
  attempts: Schema.Int,
  /** Such as `status 500` or `Unreachable`. */
  last_error: Schema.String,
  created_at: Moment,
  failed_at: Moment
}).annotate({ identifier: "DeadLetterRecord" })
export type DeadLetterRecord = typeof DeadLetterRecord.Type

export class AdminWebhooksGroup extends HttpApiGroup.make("adminWebhooks")
  .add(
    HttpApiEndpoint.get("deadLetters", "/v1/admin/webhooks/dead-letters", {
      query: {
        limit: limit(100, 20),
        cursor: cursor("dlv")
      },
      success: Schema.Struct({
        object: Schema.Literal("list"),
        data: Schema.Array(DeadLetterRecord),
        has_more: Schema.Boolean,
        next_cursor: Schema.NullOr(Schema.String)
      }),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Undelivered events, newest first" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: webhooks" })) {}
