/**
 * Keyed hashes of short-lived secrets: codes, states, refresh tokens. The key, the pepper, is made once and kept in the vault, so that a
 * copy of the tables alone cannot be searched for six-digit codes. It is read when it is first needed.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import { type GatewayError } from "../../domain/Errors.ts"
import { SecretStore } from "../../store/secrets/SecretStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

/** What a hash is of; the same text hashes to something else for another purpose. */
export type Purpose = "code" | "state" | "browser" | "refresh" | "refresh-successor" | "destination" | "network"

export class HmacKey extends Context.Service<
  HmacKey,
  {
    /** HMAC-SHA256 as 32 bytes. */
    readonly digest: (purpose: Purpose, text: string) => Effect.Effect<Buffer, GatewayError>
    /** The same in lower-case hex. */
    readonly hash: (purpose: Purpose, text: string) => Effect.Effect<string, GatewayError>
  }
>()("tollgate/gateway/signin/HmacKey") {
  static readonly layer = Layer.effect(
    HmacKey,
    Effect.gen(function* () {
      const secretStore = yield* SecretStore
      let known: Buffer | null = null
      const pepper = Effect.suspend(() =>
        known !== null
          ? Effect.succeed(known)
          : Effect.map(
              orUnavailable(
                secretStore.getOrCreate(
                  "sign-in-pepper",
                  Effect.sync(() => randomBytes(32).toString("base64url"))
                )
              ),
              (kept) => (known = Buffer.from(Redacted.value(kept), "base64url"))
            )
      )
      const digest = (purpose: Purpose, text: string) =>
        Effect.map(pepper, (key) => createHmac("sha256", key).update(`${purpose}\n${text}`).digest())
      return { digest, hash: (purpose, text) => Effect.map(digest(purpose, text), (bytes) => bytes.toString("hex")) }
    })
  )
}
