/**
 * Secrets that the gateway generates, by name. The first request creates a secret, and all
 * processes that share the store get the same one. Only the operator can read them elsewhere. One
 * process keeps them in files of the data directory, several keep them in the table `kept_secrets`.
 */
import { Context, type Effect, type Redacted } from "effect"
import { type StoreError } from "../StoreError.ts"

export class SecretStore extends Context.Service<
  SecretStore,
  {
    /**
     * The secret of this name, created by `make` when there is none. Concurrent callers get the
     * same one. `name` consists of lower-case letters, digits and `-`.
     */
    readonly getOrCreate: (name: string, make: Effect.Effect<string>) => Effect.Effect<Redacted.Redacted, StoreError>
    readonly remove: (name: string) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/secrets/SecretStore") {}
