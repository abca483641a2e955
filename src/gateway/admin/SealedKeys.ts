/**
 * Keys of providers that the database keeps. They are encrypted with a key made from the admin key,
 * which the database does not have: a copy of the database alone reveals none of them. A key that
 * was sealed under another admin key cannot be opened, and has to be entered again.
 */
import { Clock, Effect, Redacted } from "effect"
import { type StoreError } from "../../store/StoreError.ts"
import { SealedKeyStore } from "../../store/secrets/SealedKeyStore.ts"
import { KEY_BYTES, keyMaterial, makeSealing } from "../Sealing.ts"

const FORM = "tollgate/provider-keys/1"

export interface SealedKeys {
  /** The keys that can be opened, by name. */
  readonly open: Effect.Effect<ReadonlyMap<string, Redacted.Redacted>, StoreError>
  readonly seal: (name: string, key: Redacted.Redacted) => Effect.Effect<void, StoreError>
  /** Whether there was one. */
  readonly remove: (name: string) => Effect.Effect<boolean, StoreError>
}

export const makeSealedKeys = (adminKey: Redacted.Redacted): Effect.Effect<SealedKeys, never, SealedKeyStore> =>
  Effect.map(SealedKeyStore, (store) => {
    const material = keyMaterial(adminKey, "", FORM, KEY_BYTES)
    return {
      open: Effect.gen(function* () {
        const opened = new Map<string, Redacted.Redacted>()
        for (const [name, sealed] of yield* store.all) {
          const key = yield* Effect.option(makeSealing(material, name).open(sealed))
          if (key._tag === "Some") opened.set(name, Redacted.make(key.value))
        }
        return opened
      }),
      seal: (name, key) =>
        Effect.gen(function* () {
          const sealed = yield* makeSealing(material, name).close(Redacted.value(key))
          yield* store.put(name, sealed, yield* Clock.currentTimeMillis)
        }),
      remove: store.remove
    }
  })
