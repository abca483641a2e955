/** Checks the style rules of styleRules.ts on src, test and scripts. Exits 1 if one is broken. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { readSources } from "./sourceFiles.ts"
import { checkStyle } from "./styleRules.ts"

const root = process.argv[2] ?? "."
const files = ["src", "test", "scripts"]
  .filter((directory) => existsSync(join(root, directory)))
  .flatMap((directory) => readSources(root, directory))
const breaches = files.flatMap(checkStyle)
for (const { path, line, message } of breaches) console.error(`${path}:${line} ${message}`)
console.log(breaches.length === 0 ? `style ok (${files.length} files)` : `${breaches.length} style rules broken`)
process.exitCode = breaches.length === 0 ? 0 : 1
