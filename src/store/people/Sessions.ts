/**
 * Sessions and the refresh tokens of each, as hashes. A token is traded once for its successor; who trades it again is told the same
 * successor while that is unused and the grace lasts, and ends the session otherwise, because then one of the two is a thief.
 * What ended stays ended.
 */
import { Context, type Effect, Layer, type Option } from "effect"
import { type SessionRecord } from "../../domain/User.ts"
import { makeSessionsMemory } from "./SessionsMemory.ts"
import { makeSessionsSql } from "./SessionsSql.ts"
import { type StoreError } from "../StoreError.ts"

export interface Rotation {
  readonly tokenHash: string
  /** The successor's; the same for the same token, so that a repeated trade finds it. */
  readonly nextHash: string
  readonly nowMs: number
  readonly graceMs: number
  /** The session's new end. */
  readonly expiresAtMs: number
}

/**
 * `rotated`: traded; `repeated`: traded a moment ago, and nobody has used the successor; `reused`: the session is revoked by this;
 * `ended`: it was revoked or had expired before. With the session as it is now.
 */
export interface Rotated {
  readonly outcome: "rotated" | "repeated" | "reused" | "ended"
  readonly session: SessionRecord
}

export class Sessions extends Context.Service<
  Sessions,
  {
    readonly insert: (session: SessionRecord, tokenHash: string) => Effect.Effect<void, StoreError>
    /** None: nobody ever gave out this token. */
    readonly rotate: (rotation: Rotation) => Effect.Effect<Option.Option<Rotated>, StoreError>
    readonly get: (id: string) => Effect.Effect<Option.Option<SessionRecord>, StoreError>
    /** The session that a token belongs or belonged to. */
    readonly findByToken: (tokenHash: string) => Effect.Effect<Option.Option<SessionRecord>, StoreError>
    /** Whose session a token opens now: it is the last of its session, which is neither revoked nor over. */
    readonly holder: (tokenHash: string, nowMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    /** A user's sessions that are neither revoked nor over, newest first. */
    readonly live: (userId: string, nowMs: number) => Effect.Effect<ReadonlyArray<SessionRecord>, StoreError>
    /** Ends a session, if it is this user's; whether there is such a session. A second call changes nothing. */
    readonly revoke: (id: string, userId: string, nowMs: number) => Effect.Effect<boolean, StoreError>
    readonly revokeAll: (userId: string, nowMs: number) => Effect.Effect<void, StoreError>
    /** Forgets sessions that were over before a moment, tokens included. */
    readonly forget: (beforeMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/people/Sessions") {
  static readonly layer = Layer.effect(Sessions, makeSessionsSql)

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(Sessions, makeSessionsMemory)
}
