/**
 * Writes the archive of an empty embedded database, from which new ones are made
 * (src/store/embedded/Cluster.ts). Run it after each change of the version of
 * `@electric-sql/pglite`, which is part of the archive's name. It uses GNU tar.
 */
import { PGlite } from "@electric-sql/pglite"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
import { archive } from "../src/store/embedded/Cluster.ts"

const directory = mkdtempSync(join(tmpdir(), "tollgate-cluster-"))
await PGlite.create({ dataDir: directory }).then((db) => db.close())
const stable = ["--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]
const tar = execFileSync("tar", [...stable, "--exclude=postmaster.*", "-C", directory, "-cf", "-", "."], {
  maxBuffer: 1 << 30
})
rmSync(directory, { recursive: true })
const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants
const params = { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: tar.length }
const packed = brotliCompressSync(tar, { params })
writeFileSync(archive, packed)
console.log(`an empty database: ${tar.length} bytes, packed ${packed.length}`)
