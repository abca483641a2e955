/**
 * Where users live, with the identities that lead to them. Business code makes ids and timestamps; the store writes what it is given,
 * atomically. One identity leads to one user, and one proved address or number belongs to one user, however many sign in at once.
 */
import { Context, type Effect, Layer, type Option } from "effect"
import { type Grants, type Identity, type UserRecord } from "../../domain/User.ts"
import { type LinkingRefused, type LinkingRules } from "./LinkingRules.ts"
import { type StoreError } from "../StoreError.ts"
import { makeUsersMemory } from "./UsersMemory.ts"
import { makeUsersSql } from "./UsersSql.ts"

/** `known`: the identity had its user; `linked`: it was added to the user who has its address or number; `created`: a new user. */
export interface Adopted {
  readonly user: UserRecord
  readonly outcome: "known" | "linked" | "created"
}

/** Members to change; an absent member stays as it is. */
export type UserPatch = Partial<Pick<UserRecord, "role" | "state" | "lastSignInAtMs">> & {
  readonly grants?: Partial<Grants>
}

export interface UserQuery {
  /** 1 to 1,000. */
  readonly limit: number
  readonly cursor: string | null
  /** The one user with this address. */
  readonly email?: string
  /** A part of the address or of the number, in lower case, or the id. */
  readonly search?: string
}

export interface UserPage {
  readonly users: ReadonlyArray<UserRecord>
  /** The id to pass as `cursor` for the next page; `null`: this was the last. */
  readonly nextCursor: string | null
}

export class Users extends Context.Service<
  Users,
  {
    /**
     * The user whom an identity leads to. An identity that is new is linked to the user who has `newUser`'s address or number,
     * which must be proved; else `newUser` is made and gets it.
     */
    readonly adopt: (identity: Identity, newUser: UserRecord) => Effect.Effect<Adopted, StoreError>
    /** The same within rules. */
    readonly admit: (
      identity: Identity,
      newUser: UserRecord,
      rules: LinkingRules
    ) => Effect.Effect<Adopted, StoreError | LinkingRefused>
    readonly get: (id: string) => Effect.Effect<Option.Option<UserRecord>, StoreError>
    readonly identities: (userId: string) => Effect.Effect<ReadonlyArray<Identity>, StoreError>
    /** Newest first (by id, descending). */
    readonly list: (options: UserQuery) => Effect.Effect<UserPage, StoreError>
    /** Applies a patch and answers the record as it is then; none when there is no such user. */
    readonly update: (
      id: string,
      patch: UserPatch,
      nowMs: number
    ) => Effect.Effect<Option.Option<UserRecord>, StoreError>
  }
>()("tollgate/store/people/Users") {
  static readonly layer = Layer.effect(Users, makeUsersSql)

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(Users, makeUsersMemory)
}
