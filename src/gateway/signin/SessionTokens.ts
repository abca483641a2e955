/**
 * Sessions as their owner holds them: an access token for some minutes, and a refresh token that is traded for the next pair. The
 * successor of a refresh token follows from it and the pepper, so that a trade whose answer was lost can be repeated for ten seconds
 * and yields the very same; any other second use of a token ends the session. Whether a session still lives, and what its user is,
 * is looked up at least every second; what changes in this process holds at once.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { gatewayError, type GatewayError, NotFound, SignInRefused, UserSuspended } from "../../domain/Errors.ts"
import { Ids, isId } from "../../domain/Ids.ts"
import { type SessionRecord, type UserRecord } from "../../domain/User.ts"
import { Sessions } from "../../store/people/Sessions.ts"
import { Users } from "../../store/people/Users.ts"
import { AccessTokens } from "./AccessTokens.ts"
import { audit, audited, refusedCredential } from "../telemetry/Audit.ts"
import { makeLookupCache } from "../keys/LookupCache.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { HmacKey } from "./HmacKey.ts"

export interface SessionTokensOptions {
  /** How long a session lasts that nobody uses. */
  readonly sessionDays: number
}

/** A signed-in person, as of the last second. */
export interface Presence {
  readonly user: UserRecord
  readonly session: SessionRecord
}

export interface TokenPair extends Presence {
  readonly accessToken: Redacted.Redacted
  readonly expiresInSeconds: number
  readonly refreshToken: Redacted.Redacted
}

export const GRACE_MS = 10_000
const LOOKUP_TTL = Duration.seconds(1)
const LOOKUPS = 10_000
const PREFIX = "tgr-"
const refreshForm = /^tgr-[A-Za-z0-9_-]{43}$/
const USER_AGENT_CHARACTERS = 200

export class SessionTokens extends Context.Service<
  SessionTokens,
  {
    /** A new session of a user who has just proved to be that. Refuses a suspended one. */
    readonly begin: (options: {
      readonly user: UserRecord
      readonly signedInBy: string
      readonly userAgent: string | null
    }) => Effect.Effect<TokenPair, GatewayError>
    /** Trades a refresh token. One error for every token that is not good, or not good any more. */
    readonly refresh: (token: string) => Effect.Effect<TokenPair, GatewayError>
    /** Ends the session of a refresh token, whatever became of the token; no error when there is none. */
    readonly end: (token: string) => Effect.Effect<void, GatewayError>
    /** The user whose session a refresh token opens now, without trading it; none when it opens nothing. */
    readonly holder: (token: string) => Effect.Effect<Option.Option<string>, GatewayError>
    /** Whose access token this is. One error for every token that is not good. */
    readonly authenticate: (accessToken: string) => Effect.Effect<Presence, GatewayError>
    /** The same, looked up now: for what an admin does. */
    readonly authenticateNow: (accessToken: string) => Effect.Effect<Presence, GatewayError>
    /** Makes what was changed of a user or of sessions hold at once in this process. */
    readonly forgetAll: Effect.Effect<void>
    readonly list: (userId: string) => Effect.Effect<ReadonlyArray<SessionRecord>, GatewayError>
    /** Ends one of a user's own sessions. */
    readonly revoke: (userId: string, sessionId: string) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/gateway/signin/SessionTokens") {
  static readonly layer = (options: SessionTokensOptions) =>
    Layer.effect(
      SessionTokens,
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const users = yield* Users
        const tokens = yield* AccessTokens
        const hmacKey = yield* HmacKey
        const ids = yield* Ids
        const lifetimeMs = options.sessionDays * 86_400_000

        const look = Effect.fnUntraced(function* (sessionId: string) {
          const session = yield* orUnavailable(sessions.get(sessionId))
          if (Option.isNone(session)) return Option.none<Presence>()
          const user = yield* orUnavailable(users.get(session.value.userId))
          return Option.map(user, (user): Presence => ({ user, session: session.value }))
        })
        const {
          forget,
          forgetAll,
          get: presenceOf
        } = yield* makeLookupCache(look, { capacity: LOOKUPS, kept: LOOKUP_TTL })

        const pair = Effect.fnUntraced(function* (presence: Presence, refreshToken: string) {
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
          yield* forget(session.id)
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
          yield* forget(session.id)
          yield* audit({
            action: "session.end",
            target: session.id,
            outcome: "done",
            details: { user: session.userId }
          })
        })

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

        const authenticateBy = Effect.fnUntraced(function* (find: typeof look, accessToken: string) {
          const claims = yield* tokens.verify(accessToken)
          if (Option.isNone(claims)) return yield* noSession
          const presence = yield* find(claims.value.sessionId)
          const nowMs = yield* Clock.currentTimeMillis
          return Option.isSome(presence) && isHere(presence.value, claims.value.userId, nowMs)
            ? presence.value
            : yield* noSession
        })

        const authenticate = Effect.fn("SessionTokens.authenticate")((accessToken: string) =>
          authenticateBy(presenceOf, accessToken)
        )

        const authenticateNow = Effect.fn("SessionTokens.authenticateNow")((accessToken: string) =>
          authenticateBy(look, accessToken)
        )

        const list = Effect.fn("SessionTokens.list")(function* (userId: string) {
          return yield* orUnavailable(sessions.live(userId, yield* Clock.currentTimeMillis))
        })

        const revoke = Effect.fn("SessionTokens.revoke")(function* (userId: string, sessionId: string) {
          const nowMs = yield* Clock.currentTimeMillis
          const found = isId("ses", sessionId) && (yield* orUnavailable(sessions.revoke(sessionId, userId, nowMs)))
          if (!found) return yield* gatewayError(new NotFound({ what: "session", id: sessionId }))
          yield* forget(sessionId)
        })

        return SessionTokens.of({
          begin: (options) => {
            const details = { user: options.user.id, signed_in_by: options.signedInBy }
            return audited("session.begin", ({ session }) => session.id, begin(options), details)
          },
          refresh: (token) => refusedCredential("refresh_token")(refresh(token)),
          revoke: (userId, sessionId) => audited("session.end", sessionId, revoke(userId, sessionId), { user: userId }),
          end,
          holder,
          authenticate,
          authenticateNow,
          forgetAll,
          list
        })
      })
    )
}

const refused = Effect.fail(gatewayError(new SignInRefused({ what: "refresh_token" })))
const noSession = Effect.fail(gatewayError(new SignInRefused({ what: "session" })))

const isHere = ({ session, user }: Presence, userId: string, nowMs: number): boolean =>
  session.userId === userId && session.revokedAtMs === null && session.expiresAtMs > nowMs && user.state === "active"
