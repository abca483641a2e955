/**
 * The tokens of a session: an access token valid for some minutes, and a refresh token that is
 * exchanged for the next pair.
 *
 * The successor of a refresh token is derived from the token and the pepper. So an exchange whose
 * response was lost can be repeated within ten seconds and returns the same successor. Any other
 * second use of a token ends the session.
 *
 * The state of a session and its user is looked up at least once a second. Changes in this process
 * take effect at once.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { gatewayError, type GatewayError, NotFound, SignInRefused, UserSuspended } from "../../domain/Errors.ts"
import { Ids, isId } from "../../domain/Ids.ts"
import { type SessionRecord, type UserRecord } from "../../domain/User.ts"
import { Sessions } from "../../store/people/Sessions.ts"
import { Users } from "../../store/people/Users.ts"
import { AccessTokens } from "./AccessTokens.ts"
import { AuditLog } from "../telemetry/Audit.ts"
import { makeLookupCache } from "../keys/LookupCache.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { HmacKey } from "./HmacKey.ts"

export interface SessionTokensOptions {
  /** A session expires after this many days without use. */
  readonly sessionDays: number
}

/** A session and its user, at most one second old. */
export interface ActiveSession {
  readonly user: UserRecord
  readonly session: SessionRecord
}

export interface TokenPair extends ActiveSession {
  readonly accessToken: Redacted.Redacted
  readonly expiresInSeconds: number
  readonly refreshToken: Redacted.Redacted
}

export const GRACE_MS = 10_000
const LOOKUP_TTL = Duration.seconds(1)
const MAX_CACHED = 10_000
const PREFIX = "tgr-"
const refreshForm = /^tgr-[A-Za-z0-9_-]{43}$/
const USER_AGENT_CHARACTERS = 200

export class SessionTokens extends Context.Service<
  SessionTokens,
  {
    /** Starts a session for a user who has just proved their identity. Refuses a suspended user. */
    readonly begin: (options: {
      readonly user: UserRecord
      readonly signedInBy: string
      readonly userAgent: string | null
    }) => Effect.Effect<TokenPair, GatewayError>
    /** Exchanges a refresh token. All invalid tokens fail with the same error. */
    readonly refresh: (token: string) => Effect.Effect<TokenPair, GatewayError>
    /**
     * Ends the session of a refresh token, even if the token was already exchanged. Succeeds when
     * there is no session.
     */
    readonly end: (token: string) => Effect.Effect<void, GatewayError>
    /**
     * The user whose session a refresh token opens now, without exchanging it; none when it opens
     * none.
     */
    readonly holder: (token: string) => Effect.Effect<Option.Option<string>, GatewayError>
    /** The session of an access token. All invalid tokens fail with the same error. */
    readonly authenticate: (accessToken: string) => Effect.Effect<ActiveSession, GatewayError>
    /** Like `authenticate`, without the one-second cache; for requests of admins. */
    readonly authenticateNow: (accessToken: string) => Effect.Effect<ActiveSession, GatewayError>
    /**
     * Clears the cache, so that changes to users or sessions take effect at once in this process.
     */
    readonly invalidateAll: Effect.Effect<void>
    readonly list: (userId: string) => Effect.Effect<ReadonlyArray<SessionRecord>, GatewayError>
    /** Ends one of the user's own sessions. */
    readonly revoke: (userId: string, sessionId: string) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/gateway/signin/SessionTokens") {
  static readonly layer = (options: SessionTokensOptions) =>
    Layer.effect(
      SessionTokens,
      Effect.gen(function* () {
        const { audit, audited, auditRefusedCredential } = yield* AuditLog
        const sessions = yield* Sessions
        const users = yield* Users
        const tokens = yield* AccessTokens
        const hmacKey = yield* HmacKey
        const ids = yield* Ids
        const lifetimeMs = options.sessionDays * 86_400_000

        const lookUp = Effect.fnUntraced(function* (sessionId: string) {
          const session = yield* orUnavailable(sessions.get(sessionId))
          if (Option.isNone(session)) return Option.none<ActiveSession>()
          const user = yield* orUnavailable(users.get(session.value.userId))
          return Option.map(user, (user): ActiveSession => ({ user, session: session.value }))
        })
        const {
          invalidate,
          invalidateAll,
          get: presenceOf
        } = yield* makeLookupCache(lookUp, { capacity: MAX_CACHED, ttl: LOOKUP_TTL })

        const pair = Effect.fnUntraced(function* (presence: ActiveSession, refreshToken: string) {
          const accessToken = yield* tokens.issue({ userId: presence.user.id, sessionId: presence.session.id })
          return {
            ...presence,
            accessToken,
            expiresInSeconds: tokens.lifetimeSeconds,
            refreshToken: Redacted.make(refreshToken)
          } satisfies TokenPair
        })

        const begin = Effect.fn("SessionTokens.begin")(function* ({
          signedInBy,
          user,
          userAgent
        }: {
          readonly user: UserRecord
          readonly signedInBy: string
          readonly userAgent: string | null
        }) {
          if (user.state === "suspended") return yield* gatewayError(new UserSuspended())
          const nowMs = yield* Clock.currentTimeMillis
          const refreshToken = PREFIX + randomBytes(32).toString("base64url")
          const session: SessionRecord = {
            id: ids.next("ses", nowMs),
            userId: user.id,
            signedInBy,
            userAgent: userAgent === null ? null : userAgent.slice(0, USER_AGENT_CHARACTERS),
            createdAtMs: nowMs,
            lastUsedAtMs: nowMs,
            expiresAtMs: nowMs + lifetimeMs,
            revokedAtMs: null
          }
          yield* orUnavailable(sessions.insert(session, yield* hmacKey.hash("refresh", refreshToken)))
          const updated = yield* orUnavailable(users.update(user.id, { lastSignInAtMs: nowMs }, nowMs))
          return yield* pair({ user: Option.getOrElse(updated, () => user), session }, refreshToken)
        })

        const refresh = Effect.fn("SessionTokens.refresh")(function* (token: string) {
          if (!refreshForm.test(token)) return yield* refused
          const nowMs = yield* Clock.currentTimeMillis
          const successor = PREFIX + (yield* hmacKey.digest("refresh-successor", token)).toString("base64url")
          const rotated = yield* orUnavailable(
            sessions.rotate({
              tokenHash: yield* hmacKey.hash("refresh", token),
              nextHash: yield* hmacKey.hash("refresh", successor),
              nowMs,
              graceMs: GRACE_MS,
              expiresAtMs: nowMs + lifetimeMs
            })
          )
          if (Option.isNone(rotated)) return yield* refused
          const { outcome, session } = rotated.value
          yield* invalidate(session.id)
          if (outcome === "reused") {
            yield* audit({
              action: "session.reuse",
              target: session.id,
              outcome: "refused",
              details: { user: session.userId }
            })
          }
          if (outcome === "reused" || outcome === "ended") return yield* refused
          const user = yield* orUnavailable(users.get(session.userId))
          if (Option.isNone(user)) return yield* refused
          if (user.value.state === "suspended") return yield* gatewayError(new UserSuspended())
          return yield* pair({ user: user.value, session }, successor)
        })

        const endSession = Effect.fnUntraced(function* (session: SessionRecord) {
          yield* orUnavailable(sessions.revoke(session.id, session.userId, yield* Clock.currentTimeMillis))
          yield* invalidate(session.id)
          yield* audit({
            action: "session.end",
            target: session.id,
            outcome: "done",
            details: { user: session.userId }
          })
        }, Effect.uninterruptible)

        const end = Effect.fn("SessionTokens.end")(function* (token: string) {
          if (!refreshForm.test(token)) return
          const session = yield* orUnavailable(sessions.findByToken(yield* hmacKey.hash("refresh", token)))
          if (Option.isSome(session)) yield* endSession(session.value)
        })

        const holder = Effect.fn("SessionTokens.holder")(function* (token: string) {
          if (!refreshForm.test(token)) return Option.none<string>()
          const nowMs = yield* Clock.currentTimeMillis
          return yield* orUnavailable(sessions.holder(yield* hmacKey.hash("refresh", token), nowMs))
        })

        const authenticateBy = Effect.fnUntraced(function* (find: typeof lookUp, accessToken: string) {
          const claims = yield* tokens.verify(accessToken)
          if (Option.isNone(claims)) return yield* noSession
          const presence = yield* find(claims.value.sessionId)
          const nowMs = yield* Clock.currentTimeMillis
          return Option.isSome(presence) && isActive(presence.value, claims.value.userId, nowMs)
            ? presence.value
            : yield* noSession
        })

        const authenticate = Effect.fn("SessionTokens.authenticate")((accessToken: string) =>
          authenticateBy(presenceOf, accessToken)
        )

        const authenticateNow = Effect.fn("SessionTokens.authenticateNow")((accessToken: string) =>
          authenticateBy(lookUp, accessToken)
        )

        const list = Effect.fn("SessionTokens.list")(function* (userId: string) {
          return yield* orUnavailable(sessions.live(userId, yield* Clock.currentTimeMillis))
        })

        const revoke = Effect.fn("SessionTokens.revoke")(function* (userId: string, sessionId: string) {
          const nowMs = yield* Clock.currentTimeMillis
          const found = isId("ses", sessionId) && (yield* orUnavailable(sessions.revoke(sessionId, userId, nowMs)))
          if (!found) return yield* gatewayError(new NotFound({ what: "session", id: sessionId }))
          yield* invalidate(sessionId)
        })

        return SessionTokens.of({
          begin: (options) => {
            const details = { user: options.user.id, signed_in_by: options.signedInBy }
            return audited("session.begin", ({ session }) => session.id, begin(options), details)
          },
          refresh: (token) => auditRefusedCredential("refresh_token")(refresh(token)),
          revoke: (userId, sessionId) => audited("session.end", sessionId, revoke(userId, sessionId), { user: userId }),
          end,
          holder,
          authenticate,
          authenticateNow,
          invalidateAll,
          list
        })
      })
    )
}

const refused = Effect.fail(gatewayError(new SignInRefused({ what: "refresh_token" })))
const noSession = Effect.fail(gatewayError(new SignInRefused({ what: "session" })))

const isActive = ({ session, user }: ActiveSession, userId: string, nowMs: number): boolean =>
  session.userId === userId && session.revokedAtMs === null && session.expiresAtMs > nowMs && user.state === "active"
