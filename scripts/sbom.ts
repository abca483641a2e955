/**
 * Writes the bill of materials (SBOM) of what runs in a gateway, in CycloneDX's form, to stdout:
 * each package of package-lock.json that the gateway or the console's page needs, with version,
 * licence, hash and what depends on what. The same lock gives the same bytes. `npm sbom --omit=dev`
 * leaves out packages that the tests use too, such as effect, so it is not used.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

interface LockEntry {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Builds the console's page, and is not in it. */
const BUILDER = "vite"
const CONSOLE = "src/console"
const INSTALLED = "node_modules/"

const root = new URL("../", import.meta.url)
const source = readFileSync(new URL("package-lock.json", root), "utf8")
const packages = (JSON.parse(source) as { readonly packages: Readonly<Record<string, LockEntry>> }).packages
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as Readonly<Record<string, string>>

/** Where a package finds another one: beside its own dependencies, or further up. */
const find = (from: string, name: string): string | null => {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${INSTALLED}`)))) {
    const path = `${at === "" ? "" : `${at}/`}${INSTALLED}${name}`
    if (packages[path] !== undefined) return path
    if (at === "" || !at.includes(`/${INSTALLED}`))
      return packages[INSTALLED + name] === undefined ? null : INSTALLED + name
  }
}

const needsOf = (path: string): ReadonlyArray<string> => {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path] ?? {}
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => peerDependenciesMeta?.[name]?.optional !== true)
  return [...Object.keys(dependencies ?? {}), ...Object.keys(optionalDependencies ?? {}), ...peers]
    .filter((name) => path !== CONSOLE || name !== BUILDER)
    .flatMap((name) => find(path, name) ?? [])
}

const needed = new Map<string, ReadonlyArray<string>>()
const walk = (path: string): void => {
  if (needed.has(path)) return
  const needs = needsOf(path)
  needed.set(path, needs)
  needs.forEach(walk)
}
walk("")
walk(CONSOLE)

const nameOf = (path: string): string => path.slice(path.lastIndexOf(INSTALLED) + INSTALLED.length)
const purl = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`
const refOf = (path: string): string => purl(nameOf(path), packages[path]?.version ?? "")

const licencesOf = (license: string): ReadonlyArray<unknown> =>
  / /.test(license)
    ? [{ expression: license.replaceAll(/ (or|and) /g, (word) => word.toUpperCase()) }]
    : [{ license: { id: license } }]

const hashesOf = (integrity: string): ReadonlyArray<unknown> => {
  const [algorithm = "", digest = ""] = integrity.split("-")
  const content = Buffer.from(digest, "base64").toString("hex")
  return [{ alg: algorithm.replace("sha", "SHA-"), content }]
}

const paths = [...needed.keys()].filter((path) => path.startsWith(INSTALLED)).sort()
const components = paths.map((path) => {
  const { integrity, license, version } = packages[path] ?? {}
  const name = nameOf(path)
  if (version === undefined || license === undefined) {
    throw new Error(`package-lock.json does not tell the ${version === undefined ? "version" : "licence"} of ${path}`)
  }
  return {
    type: "library",
    "bom-ref": refOf(path),
    name,
    version,
    purl: purl(name, version),
    licenses: licencesOf(license),
    ...(integrity === undefined ? {} : { hashes: hashesOf(integrity) })
  }
})

const { license = "", name = "", version = "" } = manifest
const own = purl(name, version)
const digest = createHash("sha256").update(source).digest("hex")
const serial = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
const refsOf = (found: ReadonlyArray<string>) =>
  [...new Set(found.filter((path) => path.startsWith(INSTALLED)).map(refOf))].sort()
const unique = new Map(components.map((component) => [component["bom-ref"], component]))

process.stdout.write(
  `${JSON.stringify(
    {
      $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      serialNumber: `urn:uuid:${serial}`,
      version: 1,
      metadata: {
        lifecycles: [{ phase: "pre-build" }],
        component: { type: "application", "bom-ref": own, name, version, purl: own, licenses: licencesOf(license) }
      },
      components: [...unique.values()],
      dependencies: [
        { ref: own, dependsOn: refsOf([...(needed.get("") ?? []), ...(needed.get(CONSOLE) ?? [])]) },
        ...[...unique.keys()].map((ref) => ({
          ref,
          dependsOn: refsOf(paths.filter((path) => refOf(path) === ref).flatMap((path) => needed.get(path) ?? []))
        }))
      ]
    },
    null,
    2
  )}\n`
)
