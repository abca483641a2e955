/**
 * Faults that the schema of a body cannot know, because settings or the time decide: names of entities and models, a moment that has passed.
 * The handler asks for them once the body has its form. Where it has not, they are listed here beside the faults of the form.
 */
import { Clock, Effect, Option, Predicate, Schema } from "effect"
import { type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { type ValidationError } from "../api/Failure.ts"
import { Moment } from "../api/Moments.ts"
import { Catalog } from "../gateway/Catalog.ts"
import { Privacy } from "../gateway/Privacy.ts"
import { entityFaults } from "./EntityFaults.ts"
import { keyFaults } from "./KeyFaults.ts"

type Faults = (body: unknown) => ReadonlyArray<ValidationError>

/** Looks up what else is asked of the body of an endpoint. */
export const makeFaultsBeyondSchema = Effect.gen(function* () {
  const catalog = yield* Catalog
  const privacy = yield* Privacy
  const entities: Faults = (body) => entityFaults(listIn(body, "entities"), privacy.types)
  const ofKey =
    (made: "made" | "changed", nowMs: number): Faults =>
    (body) =>
      keyFaults(catalog, made, nowMs, {
        models: listIn(body, "allowed_models"),
        expiresAt: Option.getOrNull(decodeMoment(memberOf(body, "expires_at"))),
        force: memberOf(body, "force") === true
      })
  return (group: HttpApiGroup.Top, endpoint: HttpApiEndpoint.Top): Effect.Effect<Faults> =>
    Effect.map(Clock.currentTimeMillis, (nowMs) => {
      switch (`${group.identifier}.${endpoint.identifier}`) {
        case "privacy.preview":
          return entities
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

const none: Faults = () => []

const decodeMoment = Schema.decodeUnknownOption(Moment)

const memberOf = (body: unknown, name: string): unknown => (Predicate.hasProperty(body, name) ? body[name] : undefined)

const listIn = (body: unknown, name: string): ReadonlyArray<unknown> => {
  const member = memberOf(body, name)
  return Array.isArray(member) ? member : []
}
