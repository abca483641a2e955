/** Says who imports whom against the rules of the house (rooms.ts, importRules.ts). Exits 1 when someone does. */
import { checkImports } from "./importRules.ts"
import { readSources } from "./sourceFiles.ts"

const files = readSources(process.argv[2] ?? ".", "src")
const breaches = checkImports(files)
for (const { path, line, rule, message } of breaches) console.error(`${path}:${line} ${rule}: ${message}`)
console.log(breaches.length === 0 ? `imports ok (${files.length} files)` : `${breaches.length} import rules broken`)
process.exitCode = breaches.length === 0 ? 0 : 1
