/** The error for a store that does not answer: it names the dependency, and not the cause. */
import { Effect } from "effect"
import { DependencyUnavailable, gatewayError, type GatewayError } from "../domain/Errors.ts"
import { type StoreError } from "../store/StoreError.ts"

export const orUnavailable = <A, R>(
  self: Effect.Effect<A, StoreError | GatewayError, R>
): Effect.Effect<A, GatewayError, R> =>
  Effect.catchEager(self, (error) =>
    Effect.fail(
      error._tag === "StoreError" ? gatewayError(new DependencyUnavailable({ dependency: error.dependency })) : error
    )
  )
