/** The embedded database for tests, in a temporary directory that is removed with the scope. */
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Sql } from "../../src/store/sql/Sql.ts"

export const temporaryDataDir = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-embedded-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

export const layerPglite = Layer.unwrap(Effect.map(temporaryDataDir, (dataDir) => Sql.layerEmbedded({ dataDir })))
