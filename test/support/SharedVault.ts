/** A vault for several processes of a test, however often their layers are built: one secret for each name. */
import { Effect, Layer, Redacted } from "effect"
import { hash } from "node:crypto"
import { SecretStore } from "../../src/store/secrets/SecretStore.ts"

export const sharedVault = Layer.succeed(SecretStore, {
  getOrCreate: (name) => Effect.succeed(Redacted.make(hash("sha256", `a test's ${name}`, "base64url"))),
  forget: () => Effect.void
})
