/**
 * What others make of the OpenAPI document: a linter's recommended rules, and a client that a
 * generator types, which compiles strictly and works against a gateway.
 */
import { assert, it } from "@effect/vitest"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { delta, end, finish, helloReply } from "./wire.ts"
import { TestApp } from "../support/TestApp.ts"

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const openapi = pathOf("../../openapi.json")
const modules = pathOf("../../node_modules")

const MOST_WARNINGS = 20

it("a linter's recommended rules find no error and few warnings", async () => {
  const config = await createConfig({ extends: ["recommended"] })
  const problems = await lintFromString({ source: readFileSync(openapi, "utf8"), absoluteRef: openapi, config })
  const found = problems.map(({ message, ruleId, severity }) => `${severity} ${ruleId}: ${message}`)
  assert.deepStrictEqual(
    found.filter((problem) => problem.startsWith("error")),
    []
  )
  assert.isBelow(found.length, MOST_WARNINGS)
})

/** The generator needs a compiler with an API, which TypeScript 7 does not have. */
const hook = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module"
  registerHooks({ resolve: (name, context, next) => next(name === "typescript" ? "typescript5" : name, context) })
`)}`

/** A program that fails is a defect, with what it printed. */
const run = (program: string, ...options: ReadonlyArray<string>) =>
  Effect.promise(() => promisify(execFile)(program, options))

const options = {
  target: "ES2024",
  lib: ["ES2024", "DOM"],
  module: "NodeNext",
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  types: ["node"]
}

/** A folder of the project that git ignores, so that packages are found from it. */
const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const parent = pathOf("../../.tollgate")
    mkdirSync(parent, { recursive: true })
    return mkdtempSync(`${parent}/generated-client-`)
  }),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

it.live("a client with generated types compiles without casts and works, streams included", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const place = yield* folder
    const generator = `${modules}/openapi-typescript/bin/cli.js`
    yield* run(process.execPath, "--import", hook, generator, openapi, "--output", `${place}/api.d.ts`)
    cpSync(pathOf("generated/program.ts.txt"), `${place}/program.ts`)
    writeFileSync(`${place}/package.json`, JSON.stringify({ type: "module" }))
    writeFileSync(`${place}/tsconfig.json`, JSON.stringify({ compilerOptions: options, files: ["program.ts"] }))
    yield* run(`${modules}/.bin/tsc`, "--project", place)
    const { stdout } = yield* run(process.execPath, `${place}/program.ts`, url, secret, adminKey)
    assert.deepStrictEqual(JSON.parse(stdout), {
      text: "Hello",
      cost: 0.000005,
      said: "Hi",
      kind: "model_not_found",
      billed: 0.000007,
      name: "service",
      budget: 5
    })
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [
          {
            slug: "alpha",
            models: { "test/small": { reply: helloReply, events: [delta({ content: "Hi" }), finish(), end] } }
          }
        ]
      })
    )
  )
)
