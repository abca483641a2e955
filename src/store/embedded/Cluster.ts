/**
 * Makes the files of a new embedded database. Making them from nothing takes seconds, so the first one is kept as a template that
 * later ones are copied from. They are made beside their place and moved there whole: a process that dies on the way leaves
 * nothing behind that looks like a database.
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

/** A database depends on the engine's version, so each has a template of its own. */
const templatePath = (): string => {
  const engine: { readonly version: string } = createRequire(import.meta.url)(
    fileURLToPath(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")))
  )
  return fileURLToPath(new URL(`../../node_modules/.cache/tollgate/pglite-${engine.version}`, import.meta.url))
}

/** Sees to it that `directory` holds a database, mode 0700. Rejects when the file system refuses, or other files are there. */
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
