/**
 * Faults of a body that its schema cannot know, because they depend on settings or the time: names
 * of models, a time in the past. Handlers check them for a valid body. For an invalid one they are
 * listed here, together with the faults of its form.
 */
import { Clock, Effect, Option, Predicate, Schema } from "effect"
import { type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { Moment } from "../../api/schemas/Moments.ts"
import { Catalog } from "../../gateway/routing/Catalog.ts"
import { type Beyond } from "./JsonBody.ts"
import { keyFaults } from "../endpoints/KeyFaults.ts"

/** Makes a function that returns the additional checks of an endpoint's body. */
export const makeFaultsBeyondSchema = Effect.gen(function* () {
  const catalog = yield* Catalog
  const ofKey =
    (made: "made" | "changed", nowMs: number): Beyond =>
    (body) =>
      keyFaults(catalog, made, nowMs, {
        models: listIn(body, "allowed_models"),
        expiresAt: Option.getOrNull(decodeMoment(memberOf(body, "expires_at"))),
        force: memberOf(body, "force") === true
      })
  return (group: HttpApiGroup.Top, endpoint: HttpApiEndpoint.Top): Effect.Effect<Beyond> =>
    Effect.map(Clock.currentTimeMillis, (nowMs) => {
      switch (`${group.identifier}.${endpoint.identifier}`) {
        case "keys.create":
        case "portal.create":
          return ofKey("made", nowMs)
        case "keys.update":
        case "portal.update":
          return ofKey("changed", nowMs)
        default:
          return none
      }
    })
})

const none: Beyond = () => []

const decodeMoment = Schema.decodeUnknownOption(Moment)

const memberOf = (body: unknown, name: string): unknown => (Predicate.hasProperty(body, name) ? body[name] : undefined)

export const listIn = (body: unknown, name: string): ReadonlyArray<unknown> => {
  const member = memberOf(body, name)
  return Array.isArray(member) ? member : []
}
