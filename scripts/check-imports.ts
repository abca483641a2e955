/** Checks the import rules of zones.ts and importRules.ts on src. Exits 1 if one is broken. */
import { checkImports } from "./importRules.ts"
import { readSources } from "./sourceFiles.ts"

const files = readSources(process.argv[2] ?? ".", "src")
const breaches = checkImports(files)
for (const { path, line, rule, message } of breaches) console.error(`${path}:${line} ${rule}: ${message}`)
console.log(breaches.length === 0 ? `imports ok (${files.length} files)` : `${breaches.length} import rules broken`)
process.exitCode = breaches.length === 0 ? 0 : 1
