/**
 * From a proved identity to its user: the one who has it, the one whose proved address or number it shares, or a new one with what new
 * users are granted. Nothing that was not proved gets in here, so nobody can lie in wait in an account for its later owner.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type GatewayError } from "../domain/Errors.ts"
import { Ids } from "../domain/Ids.ts"
import { type Grants, type UserRecord } from "../domain/User.ts"
import { Users } from "../store/Users.ts"
import { audit } from "./Audit.ts"
import { orUnavailable } from "./OrUnavailable.ts"

/** `email` and `phone`: proved. */
export interface Arrival {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly phone: string | null
}

export class Arrivals extends Context.Service<
  Arrivals,
  { readonly welcome: (arrival: Arrival) => Effect.Effect<UserRecord, GatewayError> }
>()("tollgate/gateway/Arrivals") {
  static readonly layer = ({ newUsers }: { readonly newUsers: Grants }) =>
    Layer.effect(
      Arrivals,
      Effect.gen(function* () {
        const users = yield* Users
        const ids = yield* Ids
        return {
          welcome: Effect.fn("Arrivals.welcome")(function* ({ email, phone, provider, subject }) {
            const nowMs = yield* Clock.currentTimeMillis
            const { outcome, user } = yield* orUnavailable(
              users.adopt(
                { provider, subject, email, createdAtMs: nowMs },
                {
                  id: ids.next("usr", nowMs),
                  email,
                  phone,
                  role: "user",
                  state: "active",
                  grants: newUsers,
                  createdAtMs: nowMs,
                  updatedAtMs: nowMs,
                  lastSignInAtMs: null
                }
              )
            )
            if (outcome !== "known") {
              const action = outcome === "created" ? "user.create" : "user.link"
              yield* audit({ action, target: user.id, outcome: "done", details: { provider } })
            }
            return user
          })
        }
      })
    )
}
