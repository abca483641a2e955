/**
 * Makes the files of a new embedded database. Making them from nothing takes seconds, so the first one is kept as a template that
 * later ones are copied from. They are made beside their place and moved there whole: a process that dies on the way leaves
 * nothing behind that looks like a database.
 */
import { PGlite } from "@electric-sql/pglite"
import { existsSync, mkdirSync } from "node:fs"
import { chmod, cp, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { threadId } from "node:worker_threads"

const isCluster = (directory: string): boolean => existsSync(join(directory, "PG_VERSION"))

const initialize = (directory: string): Promise<void> => PGlite.create({ dataDir: directory }).then((db) => db.close())

/** Best effort: where the template cannot be kept, the next database is made from nothing again. */
const keepAsTemplate = (directory: string, template: string): Promise<void> => {
  const partial = `${template}.${process.pid}-${threadId}.partial`
  return (
    Promise.resolve()
      .then(() => mkdirSync(dirname(template), { recursive: true }))
      .then(() => cp(directory, partial, { recursive: true }))
      // The files are writable by everyone, and what is copied from here becomes somebody's database.
      .then(() => chmod(partial, 0o700))
      .then(() => rename(partial, template))
      .catch(() => rm(partial, { recursive: true, force: true }))
      .catch(() => undefined)
  )
}

/** Sees to it that `directory` holds a database, mode 0700. Rejects when the file system refuses, or other files are there. */
export const prepareCluster = (paths: { readonly directory: string; readonly template: string }): Promise<void> => {
  if (isCluster(paths.directory)) return chmod(paths.directory, 0o700)
  const partial = `${paths.directory}.partial`
  return rm(partial, { recursive: true, force: true })
    .then(() =>
      isCluster(paths.template)
        ? cp(paths.template, partial, { recursive: true })
        : initialize(partial).then(() => keepAsTemplate(partial, paths.template))
    )
    .then(() => chmod(partial, 0o700))
    .then(() => rename(partial, paths.directory))
}
