/**
 * Sessions and their refresh tokens, stored as hashes. A token is exchanged once for its successor.
 * A second exchange returns the same successor while that is unused and the grace period lasts.
 * After that it ends the session, because one of the two callers must be a thief. An ended session
 * stays ended.
 */
import { Context, type Effect, type Option } from "effect"
import { type SessionRecord } from "../../domain/User.ts"
import { type StoreError } from "../StoreError.ts"

export interface Rotation {
  readonly tokenHash: string
  /**
   * Hash of the successor. The same token always has the same successor, so that a repeated
   * exchange finds it.
   */
  readonly nextHash: string
  readonly nowMs: number
  readonly graceMs: number
  /** The session's new expiry. */
  readonly expiresAtMs: number
}

/**
 * `rotated`: exchanged now. `repeated`: exchanged a moment ago, and the successor is unused.
 * `reused`: this call has revoked the session. `ended`: the session was revoked or had expired
 * before. `session` is its current state.
 */
export interface Rotated {
  readonly outcome: "rotated" | "repeated" | "reused" | "ended"
  readonly session: SessionRecord
}

export class Sessions extends Context.Service<
  Sessions,
  {
    readonly insert: (session: SessionRecord, tokenHash: string) => Effect.Effect<void, StoreError>
    /** Exchanges a refresh token. None when the token was never issued. */
    readonly rotate: (rotation: Rotation) => Effect.Effect<Option.Option<Rotated>, StoreError>
    readonly get: (id: string) => Effect.Effect<Option.Option<SessionRecord>, StoreError>
    /** The session that a token belongs or belonged to. */
    readonly findByToken: (tokenHash: string) => Effect.Effect<Option.Option<SessionRecord>, StoreError>
    /**
     * The user of the session that a token opens now: the token is the newest of its session, which
     * is neither revoked nor expired.
     */
    readonly holder: (tokenHash: string, nowMs: number) => Effect.Effect<Option.Option<string>, StoreError>
    /** A user's sessions that are neither revoked nor expired, newest first. */
    readonly live: (userId: string, nowMs: number) => Effect.Effect<ReadonlyArray<SessionRecord>, StoreError>
    /**
     * Ends a session if it belongs to this user. Idempotent. Returns whether there is such a
     * session.
     */
    readonly revoke: (id: string, userId: string, nowMs: number) => Effect.Effect<boolean, StoreError>
    readonly revokeAll: (userId: string, nowMs: number) => Effect.Effect<void, StoreError>
    /** Deletes sessions that expired before a time, and their tokens. */
    readonly deleteBefore: (beforeMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/people/Sessions") {}
