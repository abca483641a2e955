/**
 * The archive of old generations, which keeps the table that requests write to small. It has the
 * same columns and indexes, and a partition per UTC month, by the time in the ids. ArchiveSql.ts
 * creates a partition before rows move there. Without partitions the archive is empty.
 */

export const archive = [
  `CREATE TABLE generations_archive (
    LIKE generations INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE, PRIMARY KEY (id)
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX generations_archive_key ON generations_archive (key_id, id DESC)`,
  `CREATE INDEX generations_archive_owner ON generations_archive (owner_id, id DESC) WHERE owner_id IS NOT NULL`,
  `CREATE INDEX generations_archive_model ON generations_archive (model, id DESC)`,
  `CREATE INDEX generations_archive_provider ON generations_archive (provider, id DESC)`,
  `CREATE INDEX generations_archive_failed ON generations_archive (id DESC) WHERE error_type IS NOT NULL`
]
