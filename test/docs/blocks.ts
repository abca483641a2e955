/**
 * The fenced code blocks of the documents. The words after the language say what the tests do with
 * a block: see `kinds`. A block of any other kind fails the tests, so that nothing stands in a
 * document unproved and unmarked.
 */
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "")

export const documents: ReadonlyArray<string> = [
  "README.md",
  "AGENTS.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...globSync("docs/**/*.md", { cwd: root }).toSorted()
]

export const kinds = {
  sh: "run, in order, in one shell for each document, against a gateway that was started for it",
  "sh start":
    "starts the document's gateway; the tests put their own provider, Postgres and Redis for those that it names",
  "sh static": "not run; its scripts and files exist",
  "json output": "an excerpt of what the shell block before it answers",
  "toml output": "an excerpt of the TOML that the shell block before it prints",
  "yaml output": "an excerpt of the YAML that the shell block before it prints",
  "sse output": "the events that the shell block before it answers, with an excerpt of each",
  json: "parsed",
  yaml: "decoded as a settings file",
  "yaml tollgate.yaml": "the settings file of the document's gateway",
  ts: "type-checked and run to its end",
  "ts client": "type-checked and run to its end against a gateway, with an API key in TOLLGATE_API_KEY",
  "ts server": "type-checked and started, then asked",
  "python static": "not run",
  "text output": "what the program before it prints; in a document without programs, a drawing"
} as const
export type Kind = keyof typeof kinds

export interface Block {
  readonly path: string
  /** Of the opening fence. */
  readonly line: number
  readonly kind: string
  readonly text: string
}

export const textOf = (path: string): string => readFileSync(`${root}/${path}`, "utf8")

export const blocksOf = (path: string): ReadonlyArray<Block> => {
  const text = textOf(path)
  return [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map((found) => ({
    path,
    line: text.slice(0, found.index).split("\n").length,
    kind: (found[1] ?? "").trim(),
    text: found[2] ?? ""
  }))
}

export const blocksOfKind = (path: string, kind: Kind): ReadonlyArray<Block> =>
  blocksOf(path).filter((block) => block.kind === kind)
