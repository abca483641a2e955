/**
 * Builds the npm package into dist/package, or into the directory that is named: JavaScript and
 * types of src, the console's page, the documents and a package.json. `npm pack dist/package` makes
 * the archive of it. The new package replaces the old one only when it is complete.
 */
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleClient } from "./client.ts"
import { manifestOf, published, type RepositoryManifest } from "./manifest.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const target = resolve(process.argv[2] ?? join(root, "dist/package"))
const fresh = `${target}.${process.pid}`

const run = (program: string, ...args: ReadonlyArray<string>): void =>
  void execFileSync(process.execPath, [join(root, program), ...args], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"]
  })

const copy = (path: string): void => {
  mkdirSync(dirname(join(fresh, path)), { recursive: true })
  cpSync(join(root, path), join(fresh, path), { recursive: true })
}

const repository = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as RepositoryManifest

const compiler = join(root, "node_modules/.bin/tsc")
if (!existsSync(compiler)) {
  console.error("The build needs the development packages, which scripts/start leaves out: run `npm ci`, then again.")
  process.exit(1)
}
run("scripts/console.ts")
// The console's sources tell the compiler nothing about the rest, and have their own.
execFileSync(compiler, ["-p", "scripts/package", "--outDir", fresh], {
  cwd: root,
  stdio: ["ignore", "inherit", "inherit"]
})
await bundleClient(join(fresh, "src"))
chmodSync(join(fresh, "src/launcher/main.js"), 0o755)

// Data beside the sources that read it.
for (const path of globSync("src/**/*.!(ts|tsx)", { cwd: root, exclude: (path) => path === "src/console" })) {
  copy(path)
}
for (const path of globSync("docs/**/*.md", { cwd: root })) copy(path)
copy("dist/console")
for (const path of [...published, "README.md", "LICENSE"]) {
  if (!["src", "test", "dist", "docs"].includes(path)) copy(path)
}
writeFileSync(join(fresh, "package.json"), `${JSON.stringify(manifestOf(repository), null, 2)}\n`)

rmSync(target, { recursive: true, force: true })
mkdirSync(dirname(target), { recursive: true })
renameSync(fresh, target)
console.log(`package built: ${target}`)
