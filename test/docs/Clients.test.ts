/**
 * The table of docs/reference/clients.md: clients, and the features that their tests cover. A row
 * comes from the titles of a file in test/clients, which begin with a feature, or from the results
 * of a full run of `scripts/clients/python` or `scripts/clients/javascript`.
 * `./scripts/test test/docs/Clients.test.ts -u` writes the table.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { join } from "node:path"
import { root, textOf } from "./blocks.ts"

const features = [
  "chat",
  "streams",
  "tools",
  "structured output",
  "reasoning",
  "embeddings",
  "models",
  "stored",
  "errors"
]

interface Row {
  readonly language: string
  readonly api: string
  readonly packages: Readonly<Record<string, string>>
  /** The mark of each tested feature. */
  readonly marks: ReadonlyMap<string, string>
}

const page = "docs/reference/clients.md"
/** The commands that run further clients: their cases, and the file with the versions. */
const suites = [
  {
    language: "TypeScript",
    results: "scripts/clients/js/results.json",
    sources: "scripts/clients/js/*.mjs",
    cases: /^await (check)\("([a-z ]+)"/gm,
    versions: "scripts/clients/js/package.json",
    pinned: (name: string, version: string) => `"${name}": "${version}"`
  },
  {
    language: "Python",
    results: "scripts/clients/py/results.json",
    sources: "scripts/clients/py/cases/*.py",
    cases: /^@case\("(\w+)", "([a-z ]+)"/gm,
    versions: "scripts/clients/py/constraints.txt",
    pinned: (name: string, version: string) => `${name}==${version}\n`
  }
]
/** The API of clients that name none. */
const CHAT = "chat completions"

interface Result {
  readonly client: string
  readonly api?: string
  readonly packages: Readonly<Record<string, string>>
  readonly features: Readonly<Record<string, { readonly passed: number; readonly failed: number }>>
}
const resultsOf = ({ results }: (typeof suites)[number]) => JSON.parse(textOf(results)) as ReadonlyArray<Result>

type Versions = Readonly<Record<string, string>>
const { devDependencies } = JSON.parse(textOf("package.json")) as { readonly devDependencies: Versions }
/** What scripts/test installs beside the repository's packages. */
const { dependencies } = JSON.parse(textOf("scripts/clients/codex/package.json")) as { readonly dependencies: Versions }
const versions = { ...devDependencies, ...dependencies }

/** Clients that are programs. */
const programs = ["@openai/codex", "@anthropic-ai/claude-code"]
const languageOf = (packages: Versions, language: string): string =>
  programs.some((name) => name in packages) ? "command line" : language

/**
 * The client of a file is the name of its group: packages, with commas between them, and the API
 * after a colon.
 */
const clientOf = (text: string): string => /^ *layer\(.*\)\("([^"]+)", \(it\)/m.exec(text)?.[1] ?? ""

/** The text of a test file, with the tests that it shares with others. */
const testsOf = (path: string): string => {
  const own = textOf(path)
  const shared = [...own.matchAll(/ from "\.\/((?:ai|langchain)\w+\.ts)"/g)].map(([, name]) =>
    textOf(`test/clients/${name}`)
  )
  return [own, ...shared].join("")
}

const rowOf = (client: string, texts: ReadonlyArray<string>): ReadonlyArray<Row> => {
  const [packaged = "", api = CHAT] = client.split(": ")
  const names = packaged.split(", ")
  if (!names.every((name) => name in versions)) return []
  const marks = new Map<string, string>()
  for (const [, feature = "", differently] of texts
    .join("")
    .matchAll(/^ {2,4}it\.effect(?:\.each\(\w+\))?\(\s*"([a-z ]+?)(, differently)?: /gm)) {
    assert.include(features, feature, client)
    if (differently !== undefined || !marks.has(feature))
      marks.set(feature, differently === undefined ? "✓" : "differs")
  }
  const packages = Object.fromEntries(names.map((name) => [name, versions[name] ?? ""]))
  return [{ language: languageOf(packages, "TypeScript"), api, packages, marks }]
}

const rows: ReadonlyArray<Row> = [
  ...[...Map.groupBy(globSync("test/clients/*.test.ts", { cwd: root }).toSorted().map(testsOf), clientOf)].flatMap(
    ([client, texts]) => rowOf(client, texts)
  ),
  ...suites.flatMap((suite) =>
    resultsOf(suite).map(({ api = CHAT, features, packages }) => ({
      language: languageOf(packages, suite.language),
      api,
      packages,
      marks: new Map(
        Object.entries(features).map(([name, { failed, passed }]) => [
          name,
          failed === 0 ? "✓" : `${failed} of ${passed + failed} fail`
        ])
      )
    }))
  )
]

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |\n`
const table = [
  line(["Client", "Language", "API", ...features]),
  line(["---", "---", "---", ...features.map(() => "---")]),
  ...rows.map(({ api, language, marks, packages }) =>
    line([
      Object.entries(packages)
        .map(([name, version]) => `\`${name}\` ${version}`)
        .join(", "),
      language,
      api,
      ...features.map((feature) => marks.get(feature) ?? "")
    ])
  )
].join("")

describe(page, () => {
  it("has the table that the tests write", async () => {
    assert.isAbove(rows.length, 10)
    const text = textOf(page).replace(/^\|[^]*?\n(?!\|)/m, () => table)
    await expect(text).toMatchFileSnapshot(join(root, page))
  })

  for (const suite of suites) {
    it(`has the results of all cases of ${suite.sources}, at the versions in use`, () => {
      const sources = globSync(suite.sources, { cwd: root }).map(textOf).join("")
      const features = [...sources.matchAll(suite.cases)].map(([, , feature]) => feature ?? "")
      const results = resultsOf(suite)
      const ran = results.flatMap(({ features }) =>
        Object.entries(features).flatMap(([feature, { failed, passed }]) =>
          Array.from({ length: failed + passed }, () => feature)
        )
      )
      assert.deepStrictEqual(ran.toSorted(), features.toSorted())
      for (const { packages } of results) {
        for (const [name, version] of Object.entries(packages)) {
          assert.include(textOf(suite.versions), suite.pinned(name, version))
        }
      }
    })
  }
})
