/**
 * Where old generations may go, so that the table that requests write to stays small: the same
 * columns and indexes, with a partition for each UTC month, by the time in their ids.
 * LedgerArchiveSql.ts makes a partition before something moves there. While there is none, the
 * archive is empty.
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
