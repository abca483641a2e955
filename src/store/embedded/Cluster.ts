/**
 * Creates the files of a new embedded database from an archive of an empty one. To initialise one
 * takes seconds and 700 MB of memory, so `npm run cluster` does it once for each version of the
 * engine. The files are written to a temporary directory that is then renamed, so a process that
 * dies midway leaves nothing that looks like a database.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { chmod, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { brotliDecompressSync } from "node:zlib"

/** A tar archive, compressed with Brotli, of an empty database of this version of the engine. */
export const archive = new URL("./cluster-0.5.16.tar.br", import.meta.url)

const isCluster = (directory: string): boolean => existsSync(join(directory, "PG_VERSION"))

/** A header of the archive, and the unit that contents are padded to. */
const BLOCK = 512

const textAt = (block: Buffer, from: number, to: number): string =>
  block.toString("utf8", from, to).split("\0", 1)[0] ?? ""

/** Reads the ustar form as far as the archive uses it: files and directories with short names. */
const unpack = (tar: Buffer, directory: string): void => {
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const header = tar.subarray(at, at + BLOCK)
    const path = join(directory, textAt(header, 0, 100))
    const bytes = parseInt(textAt(header, 124, 136), 8)
    if (textAt(header, 156, 157) === "5") {
      mkdirSync(path, { recursive: true, mode: 0o700 })
    } else {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, tar.subarray(at + BLOCK, at + BLOCK + bytes), { mode: 0o600 })
    }
    at += BLOCK + Math.ceil(bytes / BLOCK) * BLOCK
  }
}

/**
 * Ensures that `directory` holds a database, with mode 0700. Rejects when the file system refuses,
 * or when other files are there.
 */
export const prepareCluster = (directory: string): Promise<void> => {
  if (isCluster(directory)) return chmod(directory, 0o700)
  const partial = `${directory}.partial`
  return rm(partial, { recursive: true, force: true })
    .then(() => unpack(brotliDecompressSync(readFileSync(archive)), partial))
    .then(() => chmod(partial, 0o700))
    .then(() => rename(partial, directory))
}
