/**
 * Where old generations may go, so that the table that requests write to stays small: the same columns and indexes, a partition for each
 * UTC month, by the time in their ids. Partitions are made before something moves there (LedgerArchiveSql.ts). Without any, reading from
 * here is reading nothing.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE generations_archive (
    LIKE generations INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE, PRIMARY KEY (id)
  ) PARTITION BY RANGE (id)`
  yield* sql`CREATE INDEX generations_archive_key ON generations_archive (key_id, id DESC)`
  yield* sql`CREATE INDEX generations_archive_owner ON generations_archive (owner_id, id DESC) WHERE owner_id IS NOT NULL`
  yield* sql`CREATE INDEX generations_archive_failed ON generations_archive (id DESC) WHERE error_type IS NOT NULL`
  yield* sql`CREATE INDEX generations_archive_model ON generations_archive (model, id DESC)`
  yield* sql`CREATE INDEX generations_archive_provider ON generations_archive (provider, id DESC)`
})
