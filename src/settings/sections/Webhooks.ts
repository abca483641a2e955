/**
 * Decodes the `webhooks` section of the settings file: receivers, their events, and the secret that
 * signs the deliveries.
 */
import { type Redacted, Result, Schema } from "effect"
import { type EventType, eventTypes } from "../../domain/Events.ts"
import { decodeAt, type Faults, type Place } from "../Faults.ts"
import { choice, httpUrl, secret } from "../Forms.ts"
import { duplicates } from "../Lists.ts"

export interface WebhookSettings {
  readonly url: string
  readonly secret: Redacted.Redacted
  readonly events: ReadonlyArray<EventType>
}

const SHORTEST_SECRET = 16

const Section = Schema.Array(
  Schema.Struct({
    url: httpUrl("https://hooks.example.com/tollgate"),
    secret: secret(`at least ${SHORTEST_SECRET} characters`, (value) => value.length >= SHORTEST_SECRET),
    events: Schema.optionalKey(Schema.Array(choice(eventTypes)))
  })
)

export const decodeWebhooks = (place: Place): Result.Result<ReadonlyArray<WebhookSettings>, Faults> =>
  Result.flatMap(decodeAt(Section, place), (entries) => {
    const repeated = duplicates(place, "url", "an address that no other webhook has")
    return repeated.length > 0
      ? Result.fail(repeated)
      : Result.succeed(entries.map(({ events, secret, url }) => ({ url, secret, events: events ?? eventTypes })))
  })
