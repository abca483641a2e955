/**
 * What an operator wants to know of a migration before it runs, in plain sentences. Each migration
 * exports its own, and `tollgate upgrade --check` prints those of the pending ones.
 */
export interface MigrationFacts {
  /** What it adds or changes. */
  readonly changes: string
  /** Which tables it locks, and for how long. */
  readonly locks: string
  /** Whether the version before it can run on the same database. */
  readonly oldVersion: string
  /** The table whose rows decide how long it takes. Absent: it takes no noticeable time. */
  readonly growsWith?: string
}
