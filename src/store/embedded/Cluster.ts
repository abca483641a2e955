/**
 * Creates the files of a new embedded database. Creating them from scratch takes seconds, so the
 * first database is kept as a template that later ones are copied from. The files are written to a
 * temporary directory that is then renamed, so a process that dies midway leaves nothing that looks
 * like a database.
 */
import { PGlite } from "@electric-sql/pglite"
import { existsSync, mkdirSync } from "node:fs"
import { chmod, cp, rename, rm } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { threadId } from "node:worker_threads"

const isCluster = (directory: string): boolean => existsSync(join(directory, "PG_VERSION"))

const initialize = (directory: string): Promise<void> => PGlite.create({ dataDir: directory }).then((db) => db.close())

/** Best effort: if the template cannot be stored, the next database is created from scratch too. */
const keepAsTemplate = (directory: string, template: string): Promise<void> => {
  const partial = `${template}.${process.pid}-${threadId}.partial`
  return (
    Promise.resolve()
      .then(() => mkdirSync(dirname(template), { recursive: true }))
      .then(() => cp(directory, partial, { recursive: true }))
      // Protects the template, from which other databases are copied: its files are writable by
      // everyone.
      .then(() => chmod(partial, 0o700))
      .then(() => rename(partial, template))
      .catch(() => rm(partial, { recursive: true, force: true }))
      .catch(() => undefined)
  )
}

/**
 * In the folder that the engine is installed in. Each version of the engine has its own template.
 */
const templatePath = (): string => {
  const manifest = new URL("../package.json", import.meta.resolve("@electric-sql/pglite"))
  const engine: { readonly version: string } = createRequire(import.meta.url)(fileURLToPath(manifest))
  return fileURLToPath(new URL(`../../.cache/tollgate/pglite-${engine.version}`, manifest))
}

/**
 * Ensures that `directory` holds a database, with mode 0700. Rejects when the file system refuses,
 * or when other files are there.
 */
export const prepareCluster = (directory: string): Promise<void> => {
  if (isCluster(directory)) return chmod(directory, 0o700)
  const template = templatePath()
  const partial = `${directory}.partial`
  return rm(partial, { recursive: true, force: true })
    .then(() =>
      isCluster(template)
        ? cp(template, partial, { recursive: true })
        : initialize(partial).then(() => keepAsTemplate(partial, template))
    )
    .then(() => chmod(partial, 0o700))
    .then(() => rename(partial, directory))
}
