/**
 * Stores users and the identities that lead to them. The caller makes ids and timestamps, and the
 * store writes them atomically. An identity leads to one user, and a verified address or number
 * belongs to one user, even under concurrent sign-ins.
 */
import { Context, type Effect, type Option } from "effect"
import { type Grants, type Identity, type UserRecord } from "../../domain/User.ts"
import { type LinkingRefused, type LinkingRules } from "./LinkingRules.ts"
import { type StoreError } from "../StoreError.ts"

/**
 * `known`: the identity already had a user. `linked`: it was added to the user who has its address
 * or number. `created`: a new user was created.
 */
export interface Adopted {
  readonly user: UserRecord
  readonly outcome: "known" | "linked" | "created"
}

/** Members to change. An absent member stays as it is. */
export type UserPatch = Partial<Pick<UserRecord, "role" | "state" | "lastSignInAtMs">> & {
  readonly grants?: Partial<Grants>
}

export interface UserQuery {
  /** 1 to 1,000. */
  readonly limit: number
  readonly cursor: string | null
  /** Finds the one user with this address. */
  readonly email?: string
  /** A part of the address or number, in lower case, or the whole id. */
  readonly search?: string
  /** Default: `created`. */
  readonly sort?: UserSort
  /** The other direction of the order. */
  readonly isReversed?: boolean
  /** The month of the order `spent`, such as `2026-11`. */
  readonly month?: string
}

/**
 * `name`: by address or number. The others begin with the latest or the most: creation, last
 * sign-in, keys that are not revoked, spending of a month.
 */
export type UserSort = "created" | "name" | "last_sign_in" | "keys" | "spent"

export interface UserPage {
  readonly users: ReadonlyArray<UserRecord>
  /** The id to pass as `cursor` for the next page; null on the last page. */
  readonly nextCursor: string | null
}

export class Users extends Context.Service<
  Users,
  {
    /**
     * The user that an identity leads to. A new identity is linked to the user who has the address
     * or number of `newUser`, which must be verified. If there is no such user, `newUser` is
     * created and linked.
     */
    readonly adopt: (identity: Identity, newUser: UserRecord) => Effect.Effect<Adopted, StoreError>
    /** Like `adopt`, but a new identity must meet the rules. */
    readonly admit: (
      identity: Identity,
      newUser: UserRecord,
      rules: LinkingRules
    ) => Effect.Effect<Adopted, StoreError | LinkingRefused>
    readonly get: (id: string) => Effect.Effect<Option.Option<UserRecord>, StoreError>
    readonly identities: (userId: string) => Effect.Effect<ReadonlyArray<Identity>, StoreError>
    /** The addresses or numbers of users by their ids. Unknown ids are left out. */
    readonly named: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, StoreError>
    /** In the order of the query, and of ids. */
    readonly list: (options: UserQuery) => Effect.Effect<UserPage, StoreError>
    /** The number of users that a list has, on all its pages. */
    readonly total: (options: Pick<UserQuery, "email" | "search">) => Effect.Effect<number, StoreError>
    /** Applies a patch and returns the new record, or none when there is no such user. */
    readonly update: (
      id: string,
      patch: UserPatch,
      nowMs: number
    ) => Effect.Effect<Option.Option<UserRecord>, StoreError>
  }
>()("tollgate/store/people/Users") {}
