/** Which data directory the environment means. Without imports, because the first lines of a process ask it. */

/** Used when `TOLLGATE_DATA_DIR` is not set, as contract §13 has it. */
export const defaultDataDir = "./.tollgate"

/** The directory of the embedded database; `null` when `DATABASE_URL` names a server. A variable set to the empty text counts as unset. */
export const embeddedDataDir = (): string | null => {
  const { DATABASE_URL = "", TOLLGATE_DATA_DIR = "" } = process.env
  if (DATABASE_URL !== "") return null
  return TOLLGATE_DATA_DIR === "" ? defaultDataDir : TOLLGATE_DATA_DIR
}
