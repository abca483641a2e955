/**
 * What the documents say that can be looked up: kinds of blocks, links, paths, and lists that have
 * to be complete.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Api } from "../../src/api/Api.ts"
import { presets } from "../../src/providers/presets/Vendors.ts"
import { Settings } from "../../src/Settings.ts"
import { Environment } from "../../src/settings/Environment.ts"
import { TelemetryEnvironment } from "../../src/settings/sections/Telemetry.ts"
import { parseSource } from "../../scripts/sourceFiles.ts"
import { blocksOf, documents, kinds, root, textOf } from "./blocks.ts"

const blocks = documents.flatMap(blocksOf)
const ofKind = (...wanted: ReadonlyArray<keyof typeof kinds>) =>
  blocks.filter(({ kind }) => wanted.some((one) => one === kind))

describe("code blocks", () => {
  it("are all of a kind that the tests know", () => {
    assert.deepStrictEqual(
      blocks
        .filter(({ kind }) => !Object.hasOwn(kinds, kind))
        .map(({ kind, line, path }) => `${path}:${line}: ${kind}`),
      []
    )
  })

  it("of JSON parse", () => {
    for (const { text } of ofKind("json", "json output")) assert.isObject(JSON.parse(text))
  })

  for (const { line, path, text } of ofKind("yaml", "yaml tollgate.yaml")) {
    it.effect(`${path}:${line} is a settings file`, () =>
      Effect.gen(function* () {
        const { providers } = yield* Settings.load({
          env: { ALPHA_KEY: "a-key", ALPHA_KEY_2: "another-key", WEBHOOK_SECRET: "a-secret-of-a-webhook" },
          readFile: () => Effect.succeed(text),
          isTerminal: false
        })
        const named = [...text.matchAll(/^ {2}- slug: (\w+)/gm)].map(([, slug = ""]) => slug)
        assert.includeMembers(
          providers.map(({ slug }) => slug),
          named
        )
      })
    )
  }

  it("that are not run name scripts that exist", () => {
    const scripts = ofKind("sh static").flatMap(({ text }) => text.match(/^\.\/\S+/gm) ?? [])
    assert.includeMembers(scripts, ["./scripts/start", "./scripts/test"])
    for (const script of scripts) assert.isTrue(existsSync(join(root, script)), script)
  })
})

describe("links", () => {
  for (const path of documents) {
    it(`of ${path} lead to files and headings that exist`, () => {
      const links = [...textOf(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      for (const [, file = "", heading] of links) {
        const target = file === "" ? path : join(dirname(path), file)
        assert.isTrue(existsSync(join(root, target)), target)
        if (heading === undefined) continue
        const headings = [...textOf(target).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
          title
            .toLowerCase()
            .replaceAll(/[^\w\- ]/g, "")
            .replaceAll(" ", "-")
        )
        assert.include(headings, heading, target)
      }
    })
  }
})

describe("lists", () => {
  it("name every page in the index", () => {
    const index = textOf("docs/README.md")
    const pages = documents.filter((path) => path.startsWith("docs/") && path !== "docs/README.md")
    assert.isAbove(pages.length, 20)
    for (const page of pages) assert.include(index, `](${page.slice("docs/".length)})`)
  })

  it("name every dependency with its version", () => {
    const named = (manifest: string) => {
      const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
        readFileSync(join(root, manifest), "utf8")
      ) as Readonly<Record<string, Readonly<Record<string, string>>>>
      return { ...dependencies, ...optionalDependencies, ...devDependencies }
    }
    const list = textOf("docs/internals/dependencies.md")
    const wanted = Object.entries({ ...named("package.json"), ...named("src/console/package.json") })
    for (const [name, version] of wanted) {
      // A package under another name has its own in its version.
      assert.include(list, `| \`${name}\` | ${version.replace(/^npm:.*@/, "")} |`)
    }
    assert.strictEqual([...list.matchAll(/^\| `[^`]+` \| \d+\.\d+\.\d+ \|/gm)].length, wanted.length)
  })

  it("name every setting, every vendor's variable and every section of the file", () => {
    const settings = textOf("docs/reference/settings.md")
    const variables = presets.flatMap(({ baseUrlEnv, env }) => (baseUrlEnv === null ? [env] : [env, baseUrlEnv]))
    const telemetry = Object.keys(TelemetryEnvironment.fields)
    for (const name of [...Object.keys(Environment.fields), ...telemetry, ...variables])
      assert.include(settings, `\`${name}\``)
    for (const section of readFileSync(join(root, "tollgate.example.yaml"), "utf8").matchAll(/^(\w+):/gm)) {
      assert.include(settings, `\`${section[1]}`)
    }
  })

  it("name services that exist", () => {
    const [, table = ""] = textOf("docs/how-to/swap-layers.md").split("## The services")
    const named = [...table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(
      ([, cell = ""]) => cell.match(/\w+/g) ?? []
    )
    assert.isAbove(named.length, 10)
    const sources = new Set(globSync("src/**/*.ts", { cwd: root }).map((path) => basename(path, ".ts")))
    for (const name of named) assert.isTrue(sources.has(name), name)
  })

  it("name every endpoint", () => {
    const api = textOf("docs/reference/api.md")
    for (const { endpoints } of Object.values(Api.groups)) {
      for (const { method, path } of Object.values(endpoints)) {
        assert.include(api, `| \`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}\` |`)
      }
    }
  })

  it("name every header that a client may send or get", () => {
    const api = textOf("docs/reference/api.md")
    const names = globSync("src/{http,api}/**/*.ts", { cwd: root }).flatMap((path) =>
      [
        ...textOf(path).matchAll(/"((?:x-(?!forwarded-|real-|content-|frame-)|idempoten|retry-|trace|www-)[a-z-]+)"/g)
      ].map(([, name = ""]) => name)
    )
    assert.isAbove(new Set(names).size, 10)
    for (const name of names) assert.include(api, `\`${name.replace(/-tokens$/, "-requests")}`)
  })
})

it("the files of a cache miss are at most 25, and each is imported by an earlier one", () => {
  const page = textOf("docs/internals/architecture.md")
  const section = page.slice(page.indexOf("## The files of a cache miss"), page.indexOf("## State"))
  const files = [...section.matchAll(/\]\(\.\.\/\.\.\/(src\/[^)]+)\)/g)].map(([, path = ""]) => path)
  assert.isAtLeast(files.length, 15)
  assert.isAtMost(files.length, 25)
  const imported = new Set<string>()
  for (const [index, path] of files.entries()) {
    if (index > 0) assert.isTrue(imported.has(path), `${path} is imported by no earlier file`)
    for (const { specifier } of parseSource(path, textOf(path)).imports) {
      if (specifier.startsWith(".")) imported.add(join(dirname(path), specifier))
    }
  }
})
