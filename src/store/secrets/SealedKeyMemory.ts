/** Sealed keys in memory, for tests. */
import { Effect, Layer } from "effect"
import { SealedKeyStore } from "./SealedKeyStore.ts"

/** Each build starts empty. */
export const layer = Layer.sync(SealedKeyStore, () => {
  const keys = new Map<string, Uint8Array>()
  return {
    all: Effect.sync(() => new Map(keys)),
    put: (name, sealed) => Effect.sync(() => void keys.set(name, sealed)),
    remove: (name) => Effect.sync(() => keys.delete(name))
  }
})
