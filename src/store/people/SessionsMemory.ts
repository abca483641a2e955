/**
 * Sessions in memory, for tests and trials. Same guarantees as the tables, until the process ends.
 */
import { Effect, Option, Layer } from "effect"
import { type SessionRecord } from "../../domain/User.ts"
import { type Rotated, Sessions } from "./Sessions.ts"

interface Token {
  readonly sessionId: string
  readonly replacedAtMs: number | null
}

const isOver = (session: SessionRecord, nowMs: number): boolean =>
  session.revokedAtMs !== null || session.expiresAtMs <= nowMs

export const makeSessionsMemory = (): Sessions["Service"] => {
  const sessions = new Map<string, SessionRecord>()
  const tokens = new Map<string, Token>()

  const ofToken = (hash: string): SessionRecord | undefined => sessions.get(tokens.get(hash)?.sessionId ?? "")
  const change = (session: SessionRecord, members: Partial<SessionRecord>): SessionRecord => {
    const changed = { ...session, ...members }
    sessions.set(session.id, changed)
    return changed
  }
  const end = (session: SessionRecord, nowMs: number): SessionRecord =>
    change(session, { revokedAtMs: session.revokedAtMs ?? nowMs })

  return {
    insert: (session, tokenHash) =>
      Effect.sync(() => {
        sessions.set(session.id, session)
        tokens.set(tokenHash, { sessionId: session.id, replacedAtMs: null })
      }),

    rotate: ({ expiresAtMs, graceMs, nextHash, nowMs, tokenHash }) =>
      Effect.sync((): Option.Option<Rotated> => {
        const [session, token] = [ofToken(tokenHash), tokens.get(tokenHash)]
        if (session === undefined || token === undefined) return Option.none()
        if (isOver(session, nowMs)) return Option.some({ outcome: "ended", session })
        if (token.replacedAtMs === null) {
          tokens.set(tokenHash, { ...token, replacedAtMs: nowMs })
          tokens.set(nextHash, { sessionId: session.id, replacedAtMs: null })
          return Option.some({ outcome: "rotated", session: change(session, { lastUsedAtMs: nowMs, expiresAtMs }) })
        }
        const next = tokens.get(nextHash)
        return next?.replacedAtMs === null && nowMs - token.replacedAtMs <= graceMs
          ? Option.some({ outcome: "repeated", session })
          : Option.some({ outcome: "reused", session: end(session, nowMs) })
      }),

    get: (id) => Effect.sync(() => Option.fromUndefinedOr(sessions.get(id))),

    findByToken: (hash) => Effect.sync(() => Option.fromUndefinedOr(ofToken(hash))),

    holder: (hash, nowMs) =>
      Effect.sync(() => {
        const [session, token] = [ofToken(hash), tokens.get(hash)]
        return session === undefined || token?.replacedAtMs !== null || isOver(session, nowMs)
          ? Option.none()
          : Option.some(session.userId)
      }),

    live: (userId, nowMs) =>
      Effect.sync(() =>
        [...sessions.values()]
          .filter((session) => session.userId === userId && !isOver(session, nowMs))
          .sort((a, b) => (a.id < b.id ? 1 : -1))
      ),

    revoke: (id, userId, nowMs) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session?.userId !== userId) return false
        end(session, nowMs)
        return true
      }),

    revokeAll: (userId, nowMs) =>
      Effect.sync(() => {
        for (const session of sessions.values()) if (session.userId === userId) end(session, nowMs)
      }),

    deleteBefore: (beforeMs) =>
      Effect.sync(() => {
        for (const session of sessions.values()) if (session.expiresAtMs < beforeMs) sessions.delete(session.id)
        for (const [hash, { sessionId }] of tokens) if (!sessions.has(sessionId)) tokens.delete(hash)
      })
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(Sessions, makeSessionsMemory)
