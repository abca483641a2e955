/**
 * The keys that sign access tokens (EdDSA). There is a new key every 30 days. The name of a key in
 * the SecretStore contains its period, so all processes agree on it without communicating: the
 * first that needs it creates it. A key is published one period before it signs, and for two hours
 * after, which is longer than any token lives. Then it is deleted.
 */
import { Cache, Clock, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import type { CryptoKey, JWK } from "jose"
import { type GatewayError } from "../../domain/Errors.ts"
import { SecretStore } from "../../store/secrets/SecretStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

const PERIOD_MS = Duration.toMillis("30 days")
const OVERLAP_MS = Duration.toMillis("2 hours")

/** The `jose` library, loaded at the first sign-in. */
export const jose = Effect.promise(() => import("jose"))

export interface SigningKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** The public part, as published. */
  readonly publicJwk: JWK
}

const StoredJwk = Schema.fromJsonString(
  Schema.Struct({ kty: Schema.Literal("OKP"), crv: Schema.Literal("Ed25519"), x: Schema.String, d: Schema.String })
)

export class SigningKeys extends Context.Service<
  SigningKeys,
  {
    readonly current: Effect.Effect<SigningKey, GatewayError>
    /** The keys that tokens may be signed with now or soon. */
    readonly published: Effect.Effect<ReadonlyArray<SigningKey>, GatewayError>
  }
>()("tollgate/gateway/signin/SigningKeys") {
  static readonly layer = Layer.effect(
    SigningKeys,
    Effect.gen(function* () {
      const secretStore = yield* SecretStore

      const make = Effect.gen(function* () {
        const { exportJWK, generateKeyPair } = yield* jose
        const { privateKey } = yield* Effect.promise(() =>
          generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true })
        )
        return JSON.stringify(yield* Effect.promise(() => exportJWK(privateKey)))
      })

      const read = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
        const { calculateJwkThumbprint, importJWK } = yield* jose
        const { d, ...open } = yield* Effect.orDie(Schema.decodeUnknownEffect(StoredJwk)(Redacted.value(secret)))
        const [kid, privateKey, publicKey] = yield* Effect.promise(() =>
          Promise.all([calculateJwkThumbprint(open), importJWK({ ...open, d }, "EdDSA"), importJWK(open, "EdDSA")])
        )
        if (privateKey instanceof Uint8Array || publicKey instanceof Uint8Array) {
          return yield* Effect.die(new Error("an Ed25519 key was read as a shared secret, which is impossible"))
        }
        const publicJwk: JWK = { ...open, kid, alg: "EdDSA", use: "sig" }
        return { kid, privateKey, publicKey, publicJwk } satisfies SigningKey
      })

      const keys = yield* Cache.makeWith(
        (period: number) => Effect.flatMap(orUnavailable(secretStore.getOrCreate(`signing-key-${period}`, make)), read),
        { capacity: 4, timeToLive: (exit) => (exit._tag === "Success" ? Duration.infinity : Duration.zero) }
      )

      let deletedBefore = -1
      const deleteBefore = Effect.fnUntraced(function* (period: number) {
        if (deletedBefore === period) return
        deletedBefore = period
        yield* Effect.ignore(secretStore.remove(`signing-key-${period - 2}`))
      })

      return {
        current: Effect.gen(function* () {
          const period = Math.floor((yield* Clock.currentTimeMillis) / PERIOD_MS)
          yield* deleteBefore(period)
          return yield* Cache.get(keys, period)
        }),
        published: Effect.gen(function* () {
          const nowMs = yield* Clock.currentTimeMillis
          const period = Math.floor(nowMs / PERIOD_MS)
          const periods =
            nowMs - period * PERIOD_MS < OVERLAP_MS ? [period - 1, period, period + 1] : [period, period + 1]
          return yield* Effect.forEach(periods, (one) => Cache.get(keys, one))
        })
      }
    })
  )
}
