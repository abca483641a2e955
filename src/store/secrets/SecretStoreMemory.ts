/** Secrets in memory, for tests. */
import { Effect, Layer, Redacted } from "effect"
import { SecretStore } from "./SecretStore.ts"

/** Each build starts empty. */
export const layer = Layer.sync(SecretStore, () => {
  const secrets = new Map<string, string>()
  return {
    getOrCreate: (name, make) =>
      Effect.gen(function* () {
        const value = secrets.get(name) ?? (yield* make)
        const kept = secrets.get(name) ?? value
        secrets.set(name, kept)
        return Redacted.make(kept)
      }),
    remove: (name) => Effect.sync(() => void secrets.delete(name))
  }
})
