/**
 * Webhooks for the operator: their addresses, the deliveries of the last day, and events that no
 * webhook accepted, which can be sent again.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { eventTypes } from "../domain/Events.ts"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { AnsweredMoment as Moment } from "./schemas/Moments.ts"
import { cursor, limit } from "./schemas/Paging.ts"
import { bodyOptional, refusesUnknownQuery } from "./schemas/Strictness.ts"
import { text } from "./schemas/Texts.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })
const states = ["pending", "delivered", "dead"] as const

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
  failed_at: Moment,
  retried_at: described(Schema.NullOr(Moment), "When it was queued again. Null: it was not, or it failed again.")
}).annotate({ identifier: "DeadLetterRecord" })
export type DeadLetterRecord = typeof DeadLetterRecord.Type

export const WebhookRecord = Schema.Struct({
  url: described(Schema.String, "The address, without user and password."),
  events: described(
    Schema.NullOr(Schema.Array(Schema.Literals(eventTypes))),
    "The events it gets. Null: the settings do not have the address any more."
  ),
  pending: described(Schema.Int, "The events that wait to be sent, or to be sent again."),
  delivered: described(Schema.Int, "The events of the last day that it accepted."),
  dead: described(Schema.Int, "The events of the last day that were given up."),
  last_delivered_at: described(Schema.NullOr(Moment), "Within the last day."),
  last_failed_at: described(Schema.NullOr(Moment), "Within the last day."),
  last_error: described(Schema.NullOr(Schema.String), "Such as `status 500` or `Unreachable`.")
}).annotate({ identifier: "WebhookRecord" })
export type WebhookRecord = typeof WebhookRecord.Type

export const DeliveryEntry = Schema.Struct({
  id: described(Schema.String, "Counts up as deliveries are queued."),
  event_id: Schema.String,
  type: Schema.Literals(eventTypes),
  url: Schema.String,
  state: described(Schema.Literals(states), "`dead`: given up after all attempts."),
  attempts: Schema.Int,
  last_error: described(Schema.NullOr(Schema.String), "Of the last failed attempt."),
  created_at: Moment,
  updated_at: described(Moment, "The end of the last attempt."),
  next_attempt_at: described(Schema.NullOr(Moment), "Null unless it is pending.")
}).annotate({ identifier: "WebhookDelivery" })
export type DeliveryEntry = typeof DeliveryEntry.Type

const page = {
  object: Schema.Literal("list"),
  has_more: Schema.Boolean,
  next_cursor: Schema.NullOr(Schema.String)
}

export class AdminWebhooksGroup extends HttpApiGroup.make("adminWebhooks")
  .add(
    HttpApiEndpoint.get("list", "/v1/admin/webhooks", {
      success: Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(WebhookRecord) }),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "The webhooks, with what waits and what failed" })),
    HttpApiEndpoint.get("deliveries", "/v1/admin/webhooks/deliveries", {
      query: {
        limit: limit(100, 20),
        cursor: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[0-9]{1,15}$/u))).annotate({
          description: "`next_cursor` of the page before."
        }),
        state: described(Schema.optionalKey(Schema.Literals(states)), "Only deliveries in this state."),
        url: described(Schema.optionalKey(text(2_048)), "Only deliveries to this address.")
      },
      success: Schema.Struct({ ...page, data: Schema.Array(DeliveryEntry) }),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Deliveries of the last day, newest first" })),
    HttpApiEndpoint.get("deadLetters", "/v1/admin/webhooks/dead-letters", {
      query: {
        limit: limit(100, 20),
        cursor: cursor("dlv")
      },
      success: Schema.Struct({ ...page, data: Schema.Array(DeadLetterRecord) }),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Undelivered events, newest first" })),
    HttpApiEndpoint.post("retry", "/v1/admin/webhooks/dead-letters/:dead_letter_id/retry", {
      params: { dead_letter_id: described(Schema.String, "`dlv_…`.") },
      success: DeadLetterRecord,
      error: errors(400, 404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Send an undelivered event again" })),
    HttpApiEndpoint.post("retryAll", "/v1/admin/webhooks/dead-letters/retry", {
      payload: [
        Schema.Struct({ url: described(Schema.optionalKey(text(2_048)), "Only events for this address.") }),
        Schema.Null
      ],
      success: Schema.Struct({
        retried: described(Schema.Int, "The events that are queued again."),
        left: described(Schema.Int, "Those that are not: their address left the settings, or its queue is full.")
      }),
      error: errors(500, 503)
    })
      .annotateMerge(OpenApi.annotations({ summary: "Send all undelivered events again" }))
      .annotateMerge(bodyOptional)
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: webhooks" })) {}
