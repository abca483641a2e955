/**
 * Finds or creates the user of a verified identity: the user who has it, else the user who has its
 * verified address or number, else a new user with the default grants. Linking only verified
 * identities prevents account pre-hijacking.
 *
 * The settings decide who may create an account, and how many accounts a day may be created. Both
 * limits do not apply to users that an admin names.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { gatewayError, type GatewayError, OAuthRefused, SignUpRefused } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { type Grants, type Identity, type UserRecord } from "../../domain/User.ts"
import { type Adopted, Users } from "../../store/people/Users.ts"
import { AuditLog } from "../telemetry/Audit.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

/** A verified identity that signs in. `email` and `phone` are verified. */
export interface VerifiedIdentity {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly phone: string | null
  /**
   * For a method that relies on a third party to verify the address: the user of the browser's
   * session, or null without a session. Absent for other methods.
   */
  readonly sessionOf?: string | null
}

const DAY_MS = 86_400_000

export interface AccountLinkingOptions {
  /** E-mail domains that may create an account. Null: all may, and phone numbers too. */
  readonly allowedDomains: ReadonlyArray<string> | null
  /** The grants of a new user. */
  readonly newUsers: Grants
  /**
   * `newAccountsDay`: most accounts created within 24 hours, except those that an admin creates.
   */
  readonly limits: { readonly newAccountsDay: number }
}

export class AccountLinking extends Context.Service<
  AccountLinking,
  {
    readonly linkOrCreateUser: (verified: VerifiedIdentity) => Effect.Effect<UserRecord, GatewayError>
    /**
     * Like `linkOrCreateUser`, for a user that an admin names: the limits on new accounts do not
     * apply.
     */
    readonly linkOrCreateNamed: (verified: VerifiedIdentity) => Effect.Effect<UserRecord, GatewayError>
  }
>()("tollgate/gateway/signin/AccountLinking") {
  static readonly layer = ({ allowedDomains, limits, newUsers }: AccountLinkingOptions) =>
    Layer.effect(
      AccountLinking,
      Effect.gen(function* () {
        const { audit } = yield* AuditLog
        const users = yield* Users
        const ids = yield* Ids

        const isAllowed = (email: string | null): boolean =>
          allowedDomains === null ||
          (email !== null && allowedDomains.includes(email.slice(email.lastIndexOf("@") + 1)))

        const recordsOf = Effect.fnUntraced(function* ({ email, phone, provider, subject }: VerifiedIdentity) {
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

        const auditChange = ({ outcome, user }: Adopted, { provider }: VerifiedIdentity) =>
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

        const linkOrCreateUser = Effect.fn("AccountLinking.linkOrCreateUser")(function* (verified: VerifiedIdentity) {
          const { identity, newUser, nowMs } = yield* recordsOf(verified)
          const admitted = users.admit(identity, newUser, {
            mayCreate: isAllowed(verified.email),
            maxCreated: limits.newAccountsDay,
            createdSinceMs: nowMs - DAY_MS,
            ...(verified.sessionOf === undefined ? {} : { provenId: verified.sessionOf })
          })
          const adopted = yield* Effect.catchTag(admitted, "LinkingRefused", ({ fault }) =>
            Effect.andThen(
              audit({
                action: fault === "unproven" ? "user.link" : "user.create",
                target: null,
                outcome: "refused",
                details: { provider: verified.provider, cause: fault }
              }),
              refusals[fault]
            )
          )
          return yield* auditChange(adopted, verified)
        }, orUnavailable)

        const linkOrCreateNamed = Effect.fn("AccountLinking.linkOrCreateNamed")(function* (verified: VerifiedIdentity) {
          const { identity, newUser } = yield* recordsOf(verified)
          return yield* auditChange(yield* users.adopt(identity, newUser), verified)
        }, orUnavailable)

        return { linkOrCreateUser, linkOrCreateNamed }
      })
    )
}

const refusals = {
  closed: Effect.fail(gatewayError(new SignUpRefused({ fault: "domain" }))),
  full: Effect.fail(gatewayError(new SignUpRefused({ fault: "day" }))),
  unproven: Effect.fail(gatewayError(new OAuthRefused({ fault: "admin_session_required" })))
}
