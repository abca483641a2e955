/**
 * Reads and parses the TypeScript files below a directory, for checks of the syntax. A file that
 * does not parse is an error, so that no rule is skipped silently.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { type Comment, parseSync, type Program, type StaticImport } from "oxc-parser"

export interface SourceFile {
  /** Relative to the root, with forward slashes: `src/domain/Key.ts`. */
  readonly path: string
  readonly text: string
  readonly program: Program
  readonly comments: ReadonlyArray<Comment>
  readonly imports: ReadonlyArray<ImportEdge>
  /** The line (from 1) of an offset. */
  readonly lineAt: (offset: number) => number
}

/** One `import … from`, `export … from` or `import()`. */
export interface ImportEdge {
  readonly specifier: string
  readonly line: number
  /** True if nothing of it remains at run time. */
  readonly typeOnly: boolean
  /** Imported and local name. Default and namespace imports have `*`. */
  readonly names: ReadonlyArray<{ readonly imported: string; readonly local: string; readonly typeOnly: boolean }>
}

const namesOf = (statement: StaticImport): ImportEdge["names"] =>
  statement.entries.map((entry) => ({
    imported: entry.importName.name ?? "*",
    local: entry.localName.value,
    typeOnly: entry.isType
  }))

/** Parses one file. `path` as in `SourceFile`. */
export const parseSource = (path: string, text: string): SourceFile => {
  const { program, module, comments, errors } = parseSync(path, text)
  const starts = [0]
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
  const lineAt = (offset: number) => starts.findLastIndex((start) => start <= offset) + 1
  const fault = errors[0]
  if (fault !== undefined)
    throw new Error(`${path}:${lineAt(fault.labels[0]?.start ?? 0)} does not parse: ${fault.message}`)
  const imports: Array<ImportEdge> = []
  for (const statement of module.staticImports) {
    const names = namesOf(statement)
    imports.push({
      specifier: statement.moduleRequest.value,
      line: lineAt(statement.start),
      typeOnly: names.length > 0 && names.every((name) => name.typeOnly),
      names
    })
  }
  for (const statement of module.staticExports) {
    for (const entry of statement.entries) {
      if (entry.moduleRequest === null) continue
      const imported = entry.importName.name ?? "*"
      imports.push({
        specifier: entry.moduleRequest.value,
        line: lineAt(statement.start),
        typeOnly: entry.isType,
        names: [{ imported, local: imported, typeOnly: entry.isType }]
      })
    }
  }
  for (const call of module.dynamicImports) {
    const literal = /^["'`](.*)["'`]$/s.exec(text.slice(call.moduleRequest.start, call.moduleRequest.end))
    if (literal?.[1] !== undefined) {
      imports.push({ specifier: literal[1], line: lineAt(call.start), typeOnly: false, names: [] })
    }
  }
  return { path, text, program, comments, imports, lineAt }
}

/** All `.ts` and `.tsx` files below `root/directory`, sorted by path. */
export const readSources = (root: string, directory: string): ReadonlyArray<SourceFile> =>
  readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted()
    .map((path) => parseSource(path, readFileSync(join(root, path), "utf8")))
