/**
 * A secret store that several processes of a test share, however often their layers are built: one
 * secret per name.
 */
import { Effect, Layer, Redacted } from "effect"
import { hash } from "node:crypto"
import { SecretStore } from "../../src/store/secrets/SecretStore.ts"

export const sharedSecrets = Layer.succeed(SecretStore, {
  getOrCreate: (name) => Effect.succeed(Redacted.make(hash("sha256", `a test's ${name}`, "base64url"))),
  remove: () => Effect.void
})
