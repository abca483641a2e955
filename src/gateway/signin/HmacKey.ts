/**
 * Keyed hashes of short-lived secrets: codes, states, refresh tokens. The key (the pepper) is
 * generated once and stored in the SecretStore, so a copy of the tables alone does not allow a
 * search for six-digit codes. It is read on first use.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import { type GatewayError } from "../../domain/Errors.ts"
import { SecretStore } from "../../store/secrets/SecretStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

/** What is hashed. The same text has a different hash for each purpose. */
export type Purpose = "code" | "state" | "browser" | "refresh" | "refresh-successor" | "destination" | "network"

export class HmacKey extends Context.Service<
  HmacKey,
  {
    /** HMAC-SHA256, 32 bytes. */
    readonly digest: (purpose: Purpose, text: string) => Effect.Effect<Buffer, GatewayError>
    /** The digest in lower-case hex. */
    readonly hash: (purpose: Purpose, text: string) => Effect.Effect<string, GatewayError>
  }
>()("tollgate/gateway/signin/HmacKey") {
  static readonly layer = Layer.effect(
    HmacKey,
    Effect.gen(function* () {
      const secretStore = yield* SecretStore
      let cachedKey: Buffer | null = null
      const pepper = Effect.suspend(() =>
        cachedKey !== null
          ? Effect.succeed(cachedKey)
          : Effect.map(
              orUnavailable(
                secretStore.getOrCreate(
                  "sign-in-pepper",
                  Effect.sync(() => randomBytes(32).toString("base64url"))
                )
              ),
              (secret) => (cachedKey = Buffer.from(Redacted.value(secret), "base64url"))
            )
      )
      const digest = (purpose: Purpose, text: string) =>
        Effect.map(pepper, (key) => createHmac("sha256", key).update(`${purpose}\n${text}`).digest())
      return { digest, hash: (purpose, text) => Effect.map(digest(purpose, text), (bytes) => bytes.toString("hex")) }
    })
  )
}
