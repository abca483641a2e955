/**
 * Style rules that the linter does not have, each with its reason. Some apply to every file, some
 * not to tests, most to `src` only. Pure: a source in, breaches out.
 */
import { type Comment, Visitor } from "oxc-parser"
import { type SourceFile } from "./sourceFiles.ts"

export interface StyleBreach {
  readonly path: string
  readonly line: number
  readonly message: string
}

const reasons = {
  try: "try/catch in src: wrap foreign code with Effect.try, tryPromise or callback, so that the failure has a type",
  async: "async function in src: an Effect has typed errors, interruption and a scope; a promise has none of them",
  await: "await in src: use yield* in an Effect",
  throw: "throw in src: a thrown value has no type; return an Effect that fails, or dies with what was impossible",
  clock: "the clock read directly in src: time comes from Clock, so that tests can move it",
  random: "Math.random in src: randomness comes from Random or the Ids service, so that tests can fix it",
  name: "a name that says nothing about its content: one idea a file, named by its main export",
  opening: "a module opens with a comment: what it is, what it promises, what it refuses",
  barrel: "a file that only passes exports on: import from where the thing is",
  length: "more than 300 lines: two ideas in one file",
  width: "a comment line of more than 100 columns: wrap prose at 100",
  marker: "a marker of unfinished work: finish it or leave it out",
  muzzle: "a silenced check without a reason: say after `--` why it is wrong here"
} as const

/** The entries of the npm package: the one place where exports are passed on. */
const entry = /^(?:src\/entries|test\/published)\//

const LINES = 300
const COLUMNS = 100

/** Directives of other tools must stay on one line. */
const directive = /^[\s*]*(?:oxlint-|eslint-|@effect-diagnostics|@ts-)/

/** Offsets of the lines that begin in a comment and are too wide. */
const tooWide = ({ text }: SourceFile, { end, start, value }: Comment): ReadonlyArray<number> => {
  if (directive.test(value)) return []
  const from = text.lastIndexOf("\n", start) + 1
  const isAlone = text.slice(from, start).trim() === ""
  const lineEnd = text.indexOf("\n", end)
  const lines = text.slice(from, lineEnd === -1 ? text.length : lineEnd).split("\n")
  let at = from
  return lines.flatMap((line, index) => {
    const offset = at
    at += line.length + 1
    return line.length > COLUMNS && (index > 0 || isAlone) ? [offset] : []
  })
}

/** All breaches of one file, sorted by line. */
export const checkStyle = (file: SourceFile): ReadonlyArray<StyleBreach> => {
  const breaches: Array<StyleBreach> = []
  const report = (offset: number, reason: keyof typeof reasons) =>
    breaches.push({ path: file.path, line: file.lineAt(offset), message: reasons[reason] })

  // All files.
  if (/(?:^|\/)(?:utils?|common|misc|helpers?)(?:\/|\.tsx?$)/i.test(file.path)) report(0, "name")
  for (const comment of file.comments) {
    if (/\b(?:TODO|FIXME|XXX|HACK)\b/.test(comment.value)) report(comment.start, "marker")
    if (/(?:oxlint|eslint)-disable/.test(comment.value) && !/ -- \S/.test(comment.value))
      report(comment.start, "muzzle")
    if (/@effect-diagnostics/.test(comment.value) && !/ -- \S/.test(comment.value)) report(comment.start, "muzzle")
    for (const offset of tooWide(file, comment)) report(offset, "width")
  }
  const passedOn = (type: string) => type === "ExportAllDeclaration"
  if (
    !entry.test(file.path) &&
    file.program.body.length > 0 &&
    file.program.body.every(
      (statement) =>
        passedOn(statement.type) || (statement.type === "ExportNamedDeclaration" && statement.source !== null)
    )
  ) {
    report(0, "barrel")
  }
  if (file.path.startsWith("test/")) return breaches

  // src and scripts.
  if (file.lineAt(file.program.end) > LINES + 1) report(file.program.end, "length")
  const first = file.program.body[0]
  if (first === undefined || !file.comments.some((comment) => comment.end <= first.start)) report(0, "opening")
  // The console runs in a browser and does not use Effect.
  if (!file.path.startsWith("src/") || file.path.startsWith("src/console/")) return breaches

  const asyncFunction = (node: { readonly async: boolean; readonly start: number }) => {
    if (node.async) report(node.start, "async")
  }
  new Visitor({
    TryStatement: (node) => void report(node.start, "try"),
    ThrowStatement: (node) => void report(node.start, "throw"),
    AwaitExpression: (node) => void report(node.start, "await"),
    ForOfStatement(node) {
      if (node.await) report(node.start, "await")
    },
    FunctionDeclaration: asyncFunction,
    FunctionExpression: asyncFunction,
    ArrowFunctionExpression: asyncFunction,
    MemberExpression(node) {
      if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return
      const name = `${node.object.name}.${node.property.name}`
      if (name === "Date.now") report(node.start, "clock")
      if (name === "Math.random") report(node.start, "random")
    },
    NewExpression(node) {
      const isDate = node.callee.type === "Identifier" && node.callee.name === "Date"
      if (isDate && node.arguments.length === 0) report(node.start, "clock")
    }
  }).visit(file.program)
  return breaches.toSorted((a, b) => a.line - b.line)
}
