/**
 * Provides the actor of a request to everything that runs for it, and its network address to the
 * request's log line.
 */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { type Actor, CurrentActor } from "../../domain/Actor.ts"
import { clientAddress } from "./ClientAddress.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"

export const asActor = Effect.fnUntraced(function* <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  kind: Actor["kind"],
  id: string | null
) {
  const state = yield* CurrentRequest
  const address = clientAddress(yield* HttpServerRequest.HttpServerRequest)
  state.address = address
  return yield* Effect.provideService(effect, CurrentActor, { kind, id, address, requestId: state.requestId })
})
