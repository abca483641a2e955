/**
 * Builds the console's page from src/console into dist/console: hashed files that load nothing from
 * other sites. Rejects a page of more than 120 kB gzipped. The new page replaces the old one only
 * when complete, so that a running gateway serves one or the other.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { build, type Plugin } from "vite"

const LIMIT_BYTES = 120_000

/**
 * Keeps `import()` plain: lazy parts have no style of their own, so vite's preload helper of a
 * thousand bytes is not needed.
 */
const plainImport: Plugin = {
  name: "plain-import",
  enforce: "pre",
  load: (id) => (id.includes("vite/preload-helper") ? "export const __vitePreload = (load) => load()" : undefined)
}

// Every build, also in tests, is the production page.
process.env["NODE_ENV"] = "production"

const root = fileURLToPath(new URL("../", import.meta.url))
const target = join(root, "dist/console")
const fresh = `${target}.${process.pid}`
const old = `${target}.${process.pid}.old`

await build({
  configFile: false,
  root: join(root, "src/console"),
  base: "/console/",
  logLevel: "warn",
  plugins: [plainImport],
  // The classic JSX form is smaller.
  oxc: {
    jsx: { runtime: "classic", pragma: "__h", pragmaFrag: "__F" },
    jsxInject: 'import { h as __h, Fragment as __F } from "preact"'
  },
  build: {
    outDir: fresh,
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false
  }
})

const files = readdirSync(fresh, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
const total = files.reduce(
  (bytes, { name, parentPath }) => bytes + gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length,
  0
)
if (total > LIMIT_BYTES) {
  rmSync(fresh, { recursive: true })
  console.error(`the console is ${total} bytes gzipped, more than ${LIMIT_BYTES}`)
  process.exit(1)
}

mkdirSync(join(root, "dist"), { recursive: true })
try {
  renameSync(target, old)
} catch {
  // There was no old page.
}
try {
  renameSync(fresh, target)
} catch {
  // Another build was faster. Its page is equivalent.
  rmSync(fresh, { recursive: true, force: true })
}
rmSync(old, { recursive: true, force: true })
console.log(`console built: ${files.length} files, ${(total / 1000).toFixed(1)} kB gzipped`)
