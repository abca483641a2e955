/** Secrets as files of the data directory. */
import { Effect, Layer, Redacted } from "effect"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { databaseError } from "../sql/SqlErrors.ts"
import { readOrMakeSecret } from "./SecretFile.ts"
import { SecretStore } from "./SecretStore.ts"

/**
 * Files of mode 0600 in a directory of mode 0700. A disk failure is reported as a failure of the
 * database.
 */
export const layer = (directory: string) =>
  Layer.sync(SecretStore, () => ({
    getOrCreate: (name, make) =>
      readOrMakeSecret(join(directory, name), Effect.map(make, Redacted.make)).pipe(
        Effect.mapBoth({ onFailure: databaseError, onSuccess: ({ value }) => value })
      ),
    remove: (name) => Effect.tryPromise({ try: () => rm(join(directory, name), { force: true }), catch: databaseError })
  }))
