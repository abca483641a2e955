/**
 * The one-time link that a developer's start prints: it opens the console with the admin key. The
 * token is in the memory of this process, works once and for ten minutes. A process that never
 * issued one offers no link.
 */
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { sameSecret } from "../keys/KeySecret.ts"

const LIFETIME_MS = 600_000

export class ConsoleLink extends Context.Service<
  ConsoleLink,
  {
    /** A new token. It replaces the one before. */
    readonly issue: Effect.Effect<Redacted.Redacted>
    /** True if this process has issued a token, used or not. */
    readonly isOffered: Effect.Effect<boolean>
    /** Uses a token up. False: it is wrong, used or too old. */
    readonly redeem: (token: string) => Effect.Effect<boolean>
  }
>()("tollgate/gateway/signin/ConsoleLink") {
  static readonly layer = Layer.sync(ConsoleLink, () => {
    let isOffered = false
    let kept: { readonly token: string; readonly expiresAtMs: number } | null = null
    return {
      issue: Effect.map(Clock.currentTimeMillis, (nowMs) => {
        const token = randomBytes(32).toString("base64url")
        isOffered = true
        kept = { token, expiresAtMs: nowMs + LIFETIME_MS }
        return Redacted.make(token)
      }),
      isOffered: Effect.sync(() => isOffered),
      redeem: (token) =>
        Effect.map(Clock.currentTimeMillis, (nowMs) => {
          if (kept === null || !sameSecret(token, kept.token)) return false
          const isInTime = nowMs < kept.expiresAtMs
          kept = null
          return isInTime
        })
    }
  })
}
