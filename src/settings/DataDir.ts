/**
 * The data directory according to the environment. This module has no imports, because main.ts
 * needs it first.
 */

/** The default of `TOLLGATE_DATA_DIR`. */
export const defaultDataDir = "./.tollgate"

/**
 * The directory of the embedded database, or `null` if `DATABASE_URL` is set. An empty variable
 * counts as unset.
 */
export const embeddedDataDir = (): string | null => {
  const { DATABASE_URL = "", TOLLGATE_DATA_DIR = "" } = process.env
  if (DATABASE_URL !== "") return null
  return TOLLGATE_DATA_DIR === "" ? defaultDataDir : TOLLGATE_DATA_DIR
}
