/**
 * Users as an admin sees and changes them. A change takes effect at once in this process, and
 * within a second in every other. Suspending a user ends their sessions and disables their keys,
 * and changes nothing else, so lifting it restores the previous state. Admins cannot change their
 * own role or status.
 */
import { Clock, Context, Effect, Layer, Option } from "effect"
import { CurrentActor } from "../../domain/Actor.ts"
import { gatewayError, type GatewayError, NotFound, OwnAccount, SignInInputInvalid } from "../../domain/Errors.ts"
import { isId } from "../../domain/Ids.ts"
import { type Grants, type Identity, type Role, type UserRecord } from "../../domain/User.ts"
import { monthOf } from "../../domain/pricing/Money.ts"
import { KeyRepo, type OwnerFigures } from "../../store/keys/KeyRepo.ts"
import { Sessions } from "../../store/people/Sessions.ts"
import { type UserQuery, Users } from "../../store/people/Users.ts"
import { ApiKeys } from "../keys/ApiKeys.ts"
import { AccountLinking } from "./AccountLinking.ts"
import { AuditLog } from "../telemetry/Audit.ts"
import { destinationOf } from "./Destination.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { SessionTokens } from "./SessionTokens.ts"

export interface UserView {
  readonly user: UserRecord
  readonly identities: ReadonlyArray<Identity>
}

/** A user with the figures of all keys of the user in this month. */
export interface UserFigures extends OwnerFigures {
  readonly user: UserRecord
  readonly nowMs: number
}

export interface UserFiguresPage {
  readonly users: ReadonlyArray<UserFigures>
  readonly nextCursor: string | null
  readonly total: number
}

/** An absent member stays as it is. */
export interface UserChange {
  readonly role?: Role
  readonly state?: UserRecord["state"]
  readonly grants?: Partial<Grants>
}

const noKeys: OwnerFigures = { keys: 0, spentNano: 0, reservedNano: 0 }

export class UserAdmin extends Context.Service<
  UserAdmin,
  {
    readonly get: (id: string) => Effect.Effect<UserView, GatewayError>
    readonly list: (options: Omit<UserQuery, "month">) => Effect.Effect<UserFiguresPage, GatewayError>
    readonly figures: (users: ReadonlyArray<UserRecord>) => Effect.Effect<ReadonlyArray<UserFigures>, GatewayError>
    readonly change: (id: string, change: UserChange) => Effect.Effect<UserView, GatewayError>
    /**
     * Makes the user with this address an admin, and creates the user when there is none. Whoever
     * later verifies the address signs in as this user. Refuses an invalid address.
     */
    readonly grantAdmin: (email: string) => Effect.Effect<UserView, GatewayError>
  }
>()("tollgate/gateway/signin/UserAdmin") {
  static readonly layer = Layer.effect(
    UserAdmin,
    Effect.gen(function* () {
      const { audited } = yield* AuditLog
      const users = yield* Users
      const sessions = yield* Sessions
      const keys = yield* KeyRepo
      const accountLinking = yield* AccountLinking
      const apiKeys = yield* ApiKeys
      const tokens = yield* SessionTokens

      const memberOf = Effect.fnUntraced(function* (id: string, found: Option.Option<UserRecord>) {
        if (Option.isNone(found)) return yield* gatewayError(new NotFound({ what: "user", id }))
        return { user: found.value, identities: yield* users.identities(id) } satisfies UserView
      })

      const find = (id: string) => (isId("usr", id) ? users.get(id) : Effect.succeed(Option.none<UserRecord>()))

      const get = Effect.fn("UserAdmin.get")(function* (id: string) {
        return yield* memberOf(id, yield* find(id))
      }, orUnavailable)

      const change = Effect.fn("UserAdmin.change")(function* (id: string, { grants, role, state }: UserChange) {
        const { user } = yield* get(id)
        const isOther = (role ?? user.role) !== user.role || (state ?? user.state) !== user.state
        if (isOther && (yield* CurrentActor).id === id) return yield* gatewayError(new OwnAccount())
        const nowMs = yield* Clock.currentTimeMillis
        // Restrict first: if a later step fails, the user is at worst suspended without being shown
        // as suspended.
        if (state !== undefined) yield* keys.suspendOwner(id, state === "suspended")
        const updated = yield* users.update(
          id,
          {
            ...(role === undefined ? {} : { role }),
            ...(state === undefined ? {} : { state }),
            ...(grants === undefined ? {} : { grants })
          },
          nowMs
        )
        if (state === "suspended") yield* sessions.revokeAll(id, nowMs)
        yield* Effect.andThen(apiKeys.invalidateAll, tokens.invalidateAll)
        return yield* memberOf(id, updated)
      }, orUnavailable)

      const grantAdmin = Effect.fn("UserAdmin.grantAdmin")(function* (email: string) {
        const address = destinationOf("email", email)
        if (Option.isNone(address)) {
          return yield* gatewayError(new SignInInputInvalid({ param: "email", fault: "malformed" }))
        }
        const { value } = address
        const { id } = yield* accountLinking.linkOrCreateNamed({
          provider: "email",
          subject: value,
          email: value,
          phone: null
        })
        return yield* change(id, { role: "admin" })
      })

      const figuresOf = Effect.fnUntraced(function* (found: ReadonlyArray<UserRecord>) {
        const nowMs = yield* Clock.currentTimeMillis
        const owners = yield* keys.ofOwners(
          found.map(({ id }) => id),
          monthOf(nowMs)
        )
        return found.map((user): UserFigures => ({ ...noKeys, ...owners.get(user.id), user, nowMs }))
      })

      const list = Effect.fn("UserAdmin.list")(function* (options: Omit<UserQuery, "month">) {
        const month = monthOf(yield* Clock.currentTimeMillis)
        const page = yield* users.list({ ...options, month })
        return { ...page, users: yield* figuresOf(page.users), total: yield* users.total(options) }
      }, orUnavailable)

      return UserAdmin.of({
        get,
        list,
        figures: (found) => orUnavailable(figuresOf(found)),
        change: (id, asked) => {
          const { grants, ...rest } = asked
          const details = { ...rest, ...(grants === undefined ? {} : { granted: grants }) }
          return audited("user.change", id, change(id, asked), details)
        },
        grantAdmin: (email) => audited("user.admin", ({ user }) => user.id, grantAdmin(email))
      })
    })
  )
}
