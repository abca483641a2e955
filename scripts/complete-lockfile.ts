/**
 * Completes package-lock.json with platform packages that npm left out. A package such as a native
 * linter lists one binary per platform in `optionalDependencies`. npm drops those that the registry
 * in use lacks, and `npm ci` then rejects the lock ("Missing … from lock file"). An entry with
 * version, os and cpu satisfies `npm ci`, which installs only what fits the machine. Run it after
 * every change of a dependency (`npm run lock`). Optional dependencies without a platform are left
 * unchanged and printed.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface LockEntry {
  version?: string
  optional?: boolean
  dev?: boolean
  os?: ReadonlyArray<string>
  cpu?: ReadonlyArray<string>
  libc?: ReadonlyArray<string>
  optionalDependencies?: Readonly<Record<string, string>>
}

const systems: Readonly<Record<string, string>> = {
  aix: "aix",
  android: "android",
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  netbsd: "netbsd",
  openbsd: "openbsd",
  openharmony: "openharmony",
  sunos: "sunos",
  win: "win32",
  win32: "win32",
  windows: "win32"
}
const processors = new Set("arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x wasm32 x64".split(" "))

/** The platform in a package's name: `@scope/tool-linux-x64-musl`. */
const platformOf = (name: string) => {
  const words = name.slice(name.lastIndexOf("/") + 1).split("-")
  const os = words.map((word) => systems[word]).find((system) => system !== undefined)
  const cpu = words.find((word) => processors.has(word))
  const libc = words.some((word) => word.includes("musl"))
    ? "musl"
    : words.some((word) => word.startsWith("gnu"))
      ? "glibc"
      : undefined
  return os === undefined && cpu === undefined
    ? undefined
    : {
        ...(cpu === undefined ? {} : { cpu: [cpu] }),
        ...(os === undefined ? {} : { os: [os] }),
        ...(libc === undefined ? {} : { libc: [libc] })
      }
}

const lock: { packages: Record<string, LockEntry> } = JSON.parse(readFileSync("package-lock.json", "utf8"))
let added = 0
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const top = `node_modules/${name}`
    if (lock.packages[top] !== undefined || lock.packages[`${path}/${top}`] !== undefined) continue
    const platform = platformOf(name)
    if (platform === undefined) {
      console.log(`left out: ${name} (not a platform's package)`)
      continue
    }
    lock.packages[top] = {
      version: version.replace(/^[\^~=]/, ""),
      ...(entry.dev === true ? { dev: true } : {}),
      optional: true,
      ...platform
    }
    added++
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n")
console.log(`${added} platform packages added to package-lock.json`)
