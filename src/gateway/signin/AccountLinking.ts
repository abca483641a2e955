/**
 * From a proved identity to its user: the one who has it, the one whose proved address or number it shares, or a new one with what new
 * users are granted. Nothing that was not proved gets in here, so nobody can lie in wait in an account for its later owner. Who may make an
 * account, and how many of them there are in a day, is the settings'; whom an admin names is free of that.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { gatewayError, type GatewayError, OAuthRefused, SignUpRefused } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { type Grants, type Identity, type UserRecord } from "../../domain/User.ts"
import { type Adopted, Users } from "../../store/people/Users.ts"
import { audit } from "../telemetry/Audit.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

/** `email` and `phone`: proved. */
export interface Arrival {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly phone: string | null
  /** For a way in that proves an address by somebody else's word: the user whose session the browser has, null without one. */
  readonly sessionOf?: string | null
}

const DAY_MS = 86_400_000

export interface AccountLinkingOptions {
  /** E-mail domains that may make an account; `null`: all may, and phone numbers too. */
  readonly allowedDomains: ReadonlyArray<string> | null
  /** What a new user is granted. */
  readonly newUsers: Grants
  /** `newAccountsDay`: accounts that may be made within 24 hours, without those that an admin makes. */
  readonly limits: { readonly newAccountsDay: number }
}

export class AccountLinking extends Context.Service<
  AccountLinking,
  {
    readonly linkOrCreateUser: (arrival: Arrival) => Effect.Effect<UserRecord, GatewayError>
    /** The same for somebody whom an admin names. */
    readonly name: (arrival: Arrival) => Effect.Effect<UserRecord, GatewayError>
  }
>()("tollgate/gateway/signin/AccountLinking") {
  static readonly layer = ({ allowedDomains, limits, newUsers }: AccountLinkingOptions) =>
    Layer.effect(
      AccountLinking,
      Effect.gen(function* () {
        const users = yield* Users
        const ids = yield* Ids

        const isAllowed = (email: string | null): boolean =>
          allowedDomains === null ||
          (email !== null && allowedDomains.includes(email.slice(email.lastIndexOf("@") + 1)))

        const recordsOf = Effect.fnUntraced(function* ({ email, phone, provider, subject }: Arrival) {
          const nowMs = yield* Clock.currentTimeMillis
          const identity: Identity = { provider, subject, email, createdAtMs: nowMs }
          const newUser: UserRecord = {
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
          return { identity, newUser, nowMs }
        })

        const written = ({ outcome, user }: Adopted, { provider }: Arrival) =>
          outcome === "known"
            ? Effect.succeed(user)
            : Effect.as(
                audit({
                  action: outcome === "created" ? "user.create" : "user.link",
                  target: user.id,
                  outcome: "done",
                  details: { provider }
                }),
                user
              )

        const linkOrCreateUser = Effect.fn("AccountLinking.welcome")(function* (arrival: Arrival) {
          const { identity, newUser, nowMs } = yield* recordsOf(arrival)
          const admitted = users.admit(identity, newUser, {
            mayCreate: isAllowed(arrival.email),
            maxCreated: limits.newAccountsDay,
            createdSinceMs: nowMs - DAY_MS,
            ...(arrival.sessionOf === undefined ? {} : { provenId: arrival.sessionOf })
          })
          const adopted = yield* Effect.catchTag(admitted, "LinkingRefused", ({ fault }) =>
            Effect.andThen(
              audit({
                action: fault === "unproven" ? "user.link" : "user.create",
                target: null,
                outcome: "refused",
                details: { provider: arrival.provider, cause: fault }
              }),
              refusals[fault]
            )
          )
          return yield* written(adopted, arrival)
        }, orUnavailable)

        const name = Effect.fn("AccountLinking.name")(function* (arrival: Arrival) {
          const { identity, newUser } = yield* recordsOf(arrival)
          return yield* written(yield* users.adopt(identity, newUser), arrival)
        }, orUnavailable)

        return { linkOrCreateUser, name }
      })
    )
}

const refusals = {
  closed: Effect.fail(gatewayError(new SignUpRefused({ fault: "domain" }))),
  full: Effect.fail(gatewayError(new SignUpRefused({ fault: "day" }))),
  unproven: Effect.fail(gatewayError(new OAuthRefused({ fault: "admin_session_required" })))
}
