/**
 * The import rules: those of the zones (zones.ts), and two more. Only the composition names
 * production layers, and only the settings read the environment. Pure: sources in, breaches out.
 */
import { posix } from "node:path"
import { Visitor } from "oxc-parser"
import { outbound, type Zone, zones } from "./zones.ts"
import { type ImportEdge, type SourceFile } from "./sourceFiles.ts"

export interface Breach {
  readonly path: string
  readonly line: number
  readonly rule: "zone" | "package" | "missing" | "cycle" | "outbound" | "layers" | "environment"
  readonly message: string
}

const below = (path: string) => path.slice("src/".length)
const zoneOf = (path: string): Zone | undefined => zones.find((zone) => zone.files.test(below(path)))

/** The path of a relative specifier. Undefined for a package. */
const targetOf = (file: SourceFile, edge: ImportEdge): string | undefined =>
  edge.specifier.startsWith(".") ? posix.join(posix.dirname(file.path), edge.specifier) : undefined

const checkEdge = (file: SourceFile, zone: Zone, edge: ImportEdge, known: ReadonlySet<string>): Array<Breach> => {
  const breach = (rule: Breach["rule"], message: string): Breach => ({
    path: file.path,
    line: edge.line,
    rule,
    message
  })
  const target = targetOf(file, edge)
  if (target === undefined) {
    const { specifier } = edge
    const banned = zone.packages === undefined ? zone.notPackages?.test(specifier) : !zone.packages.test(specifier)
    // A type import costs nothing at run time, but in domain and api it would tie the contract to a
    // package.
    if (banned === true && (zone.packages !== undefined || !edge.typeOnly)) {
      return [breach("package", `${zone.name} must not import "${specifier}": ${zone.because}`)]
    }
    const calls = outbound.packages.test(specifier) || outbound.builtins.test(specifier)
    if (zone.name === "providers" && calls && !edge.typeOnly && !outbound.files.includes(below(file.path))) {
      return [
        breach(
          "outbound",
          `"${specifier}" calls out; only src/${outbound.files.join(" and src/")} may, so that limits and aborts hold everywhere`
        )
      ]
    }
    return []
  }
  if (!target.startsWith("src/")) return [breach("zone", `src must not import ${target}: it ships without it`)]
  if (!known.has(target)) return [breach("missing", `"${edge.specifier}" is no file (${target})`)]
  if (zone.files.test(below(target)) || zone.mayImport.test(below(target))) return []
  if (edge.typeOnly && zone.mayImportTypes?.test(below(target)) === true) return []
  return [breach("zone", `${zone.name} must not import ${target}: ${zone.because}`)]
}

/** Uses of other files' layers: `KeyRepo.layer`, `import { layerPostgres }`. */
const checkLayers = (file: SourceFile): Array<Breach> => {
  const place = below(file.path)
  // An entry of the package passes layers on, and puts none together.
  if (["Start.ts", "Server.ts", "Routes.ts"].includes(place) || place.startsWith("entries/")) return []
  const breaches: Array<Breach> = []
  const foreign = new Set<string>()
  const report = (line: number, name: string) =>
    breaches.push({
      path: file.path,
      line,
      rule: "layers",
      message: `${name} is another file's layer; only src/Start.ts, src/Server.ts and src/Routes.ts put layers together, so that each can be swapped in one place`
    })
  for (const edge of file.imports) {
    const target = targetOf(file, edge)
    if (target === undefined) continue
    if (/^(?:main|Launch)\.ts$/.test(place) && /^src\/(?:Start|Observability)\.ts$/.test(target)) continue
    for (const { imported, local, typeOnly } of edge.names) {
      if (typeOnly) continue
      if (/^layer(?:[A-Z]|$)/.test(imported)) report(edge.line, imported)
      else foreign.add(local)
    }
  }
  new Visitor({
    MemberExpression(node) {
      if (node.object.type !== "Identifier" || node.computed || node.property.type !== "Identifier") return
      if (foreign.has(node.object.name) && /^layer(?:[A-Z]|$)/.test(node.property.name)) {
        report(file.lineAt(node.start), `${node.object.name}.${node.property.name}`)
      }
    }
  }).visit(file.program)
  return breaches
}

/** Reads of the environment, by `process.env`, `node:process` or Effect's Config. */
const checkEnvironment = (file: SourceFile, zone: Zone): Array<Breach> => {
  // The launcher passes the environment on.
  if (zone.name === "Settings" || zone.name === "launcher") return []
  const breaches: Array<Breach> = []
  const report = (line: number, what: string) =>
    breaches.push({
      path: file.path,
      line,
      rule: "environment",
      message: `${what} reads the environment; only src/Settings.ts does, so that every setting is checked at start`
    })
  for (const { specifier, line, names } of file.imports) {
    for (const { imported, typeOnly } of names) {
      if (typeOnly) continue
      if (specifier === "effect" && (imported === "Config" || imported === "ConfigProvider")) report(line, imported)
      if (/^effect\/Config(?:Provider)?$/.test(specifier)) report(line, specifier)
      if (specifier === "node:process" && imported === "env") report(line, "env of node:process")
    }
  }
  new Visitor({
    MemberExpression(node) {
      const property = node.property.type === "Identifier" ? node.property.name : null
      const literal = node.property.type === "Literal" ? node.property.value : null
      if (node.object.type !== "Identifier" || node.object.name !== "process") return
      if ((!node.computed && property === "env") || literal === "env") report(file.lineAt(node.start), "process.env")
    }
  }).visit(file.program)
  return breaches
}

/**
 * Run-time import cycles, each reported once, from its alphabetically first file. Type imports are
 * erased.
 */
const checkCycles = (files: ReadonlyArray<SourceFile>): Array<Breach> => {
  const graph = new Map(
    files.map((file) => [
      file.path,
      file.imports.flatMap((edge) => {
        const target = edge.typeOnly ? undefined : targetOf(file, edge)
        return target === undefined ? [] : [{ target, line: edge.line }]
      })
    ])
  )
  const breaches = new Map<string, Breach>()
  const done = new Set<string>()
  const walk = (path: string, trail: ReadonlyArray<string>) => {
    if (done.has(path)) return
    for (const { target } of graph.get(path) ?? []) {
      const at = [...trail, path].indexOf(target)
      if (at === -1) {
        walk(target, [...trail, path])
        continue
      }
      const ring = [...trail, path].slice(at)
      const first = ring.indexOf(ring.toSorted()[0] ?? path)
      const turned = [...ring.slice(first), ...ring.slice(0, first)]
      const start = turned[0] ?? path
      const line = graph.get(start)?.find((edge) => edge.target === (turned[1] ?? start))?.line ?? 1
      const message = `imports go in a circle: ${[...turned, start].join(" -> ")}`
      breaches.set(message, { path: start, line, rule: "cycle", message })
    }
    done.add(path)
  }
  for (const file of files) walk(file.path, [])
  return [...breaches.values()]
}

/** All breaches in a tree of sources below `src/`, sorted by path and line. */
export const checkImports = (files: ReadonlyArray<SourceFile>): ReadonlyArray<Breach> => {
  const known = new Set(files.map((file) => file.path))
  const breaches = files.flatMap((file): Array<Breach> => {
    const zone = zoneOf(file.path)
    if (zone === undefined) {
      return [{ path: file.path, line: 1, rule: "zone", message: "belongs to no zone: add it to scripts/zones.ts" }]
    }
    return [
      ...file.imports.flatMap((edge) => checkEdge(file, zone, edge, known)),
      ...checkLayers(file),
      ...checkEnvironment(file, zone)
    ]
  })
  return [...breaches, ...checkCycles(files)].toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
}
