/**
 * Builds the console's page out of src/console into dist/console: hashed files that load nothing from elsewhere. Refuses a page of more than 60 kB over the wire, all its parts together. The new page takes the old one's place only when it is
 * whole, so that a gateway that runs meanwhile serves one or the other.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { build, type Plugin } from "vite"

const LIMIT_BYTES = 60_000

/**
 * A part of the page that is loaded when it is needed has nothing that could be loaded ahead beside it: its style is the page's. So
 * `import()` is all it takes, without the thousand bytes by which vite makes more of it.
 */
const plainImport: Plugin = {
  name: "plain-import",
  enforce: "pre",
  load: (id) => (id.includes("vite/preload-helper") ? "export const __vitePreload = (load) => load()" : undefined)
}

// Whoever builds it, a test too, gets the page that is served.
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
  // The older form of JSX says the same in less.
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
  // There was none.
}
try {
  renameSync(fresh, target)
} catch {
  // Another build was faster; its page is as good.
  rmSync(fresh, { recursive: true, force: true })
}
rmSync(old, { recursive: true, force: true })
console.log(`console built: ${files.length} files, ${(total / 1000).toFixed(1)} kB gzipped`)
