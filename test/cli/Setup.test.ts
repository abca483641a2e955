/** `tollgate setup` against a gateway in another process, with files in a temporary directory. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { temporaryDirectory } from "../support/Gateway.ts"
import { Served } from "../client/served.ts"
import { line, startLine } from "./line.ts"

const clients = {
  "claude-code": ".claude/settings.json",
  codex: ".codex/config.toml",
  opencode: ".config/opencode/opencode.json",
  cline: ".cline/data/settings/providers.json",
  continue: ".continue/config.yaml"
} as const

const noAddress = "http://127.0.0.1:9"
const textOf = (path: string) => readFileSync(path, "utf8")
const modeOf = (path: string) => statSync(path).mode & 0o777

layer(Served.layer, { excludeTestServices: true, timeout: 120_000 })("setup", (it) => {
  const run = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(Served, ({ gateway, key }) => line(["setup", ...args, "--url", gateway.url, "--key", key]))

  it.effect("writes each client's file at its place, without the key, and changes nothing the second time", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* Served
      const home = yield* temporaryDirectory
      const env = { HOME: home, TOLLGATE_URL: `${gateway.url}/v1`, TOLLGATE_API_KEY: key }
      for (const [client, path] of Object.entries(clients)) {
        const file = join(home, path)
        const args = ["setup", client, "--model", "mock/lorem", "--small-model", "mock/echo", "--write"]
        const first = yield* (yield* startLine(args, { cwd: home, env })).ended
        assert.strictEqual(first.code, 0, first.stderr)
        assert.include(first.stdout, `${file}: wrote `)
        assert.notInclude(first.stdout + first.stderr, key)
        const written = textOf(file)
        assert.include(written, "mock/lorem")
        assert.include(written, gateway.url)
        assert.notInclude(written, key)
        if (client !== "cline") assert.include(written, "TOLLGATE_API_KEY")
        const again = yield* (yield* startLine(args, { cwd: home, env })).ended
        assert.match(again.stdout, /is up to date\.\n/)
        assert.strictEqual(textOf(file), written)
        assert.lengthOf(readdirSync(dirname(file)), 1)
      }
      assert.deepInclude(JSON.parse(textOf(join(home, clients["claude-code"]))), {
        apiKeyHelper: "printenv TOLLGATE_API_KEY",
        env: {
          ANTHROPIC_BASE_URL: gateway.url,
          ANTHROPIC_MODEL: "mock/lorem",
          ANTHROPIC_DEFAULT_FABLE_MODEL: "mock/lorem",
          ANTHROPIC_DEFAULT_OPUS_MODEL: "mock/lorem",
          ANTHROPIC_DEFAULT_SONNET_MODEL: "mock/lorem",
          ANTHROPIC_DEFAULT_HAIKU_MODEL: "mock/echo",
          CLAUDE_CODE_MAX_CONTEXT_TOKENS: "128000"
        }
      })
    })
  )

  it.effect("prints by default: the settings, the file and the steps, and writes nothing", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* Served
      const directory = yield* temporaryDirectory
      for (const client of Object.keys(clients)) {
        const file = join(directory, client)
        const { code, stderr, stdout } = yield* run(client, "--model", "mock/echo", "--file", file)
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.isTrue(stdout.startsWith(`${file} (new):\n\n`))
        assert.include(stdout, "mock/echo")
        assert.notInclude(stdout, key)
        const asked = yield* run(client, "--model", "mock/echo", "--file", file, "--with-key")
        assert.include(asked.stdout, key)
        assert.isFalse(existsSync(file))
      }
      const cursor = yield* run("cursor", "--model", "mock/echo")
      assert.include(cursor.stdout, `${gateway.url}/v1`)
      assert.notInclude(cursor.stdout, key)
      const json = yield* run("codex", "--file", join(directory, "c"), "--json")
      assert.deepInclude(JSON.parse(json.stdout), {
        object: "setup",
        client: "codex",
        model: "mock/echo",
        written: false,
        backup: null,
        warnings: []
      })
    })
  )

  it.effect("merges into a file, keeps a copy, and puts a written key where only its owner reads it", () =>
    Effect.gen(function* () {
      const { key } = yield* Served
      const directory = yield* temporaryDirectory
      const [real, file] = [join(directory, "kept", "settings.json"), join(directory, "settings.json")]
      const mine = '{\n  // mine\n  "env": { "ANTHROPIC_BASE_URL": "http://old", "A": "1" },\n  "model": "opus"\n}\n'
      mkdirSync(dirname(real))
      writeFileSync(real, mine, { mode: 0o640 })
      symlinkSync(real, file)
      const args = ["claude-code", "--model", "mock/echo", "--file", file]

      const plain = yield* run(...args, "--write")
      assert.match(plain.stdout, /Replaced: env\.ANTHROPIC_BASE_URL\.\nThe file as it was: (.*)\n/)
      assert.match(plain.stderr, /^tollgate: model is set\. /)
      const [copy = ""] = readdirSync(dirname(real)).filter((name) => name.endsWith(".bak"))
      assert.strictEqual(textOf(join(dirname(real), copy)), mine)
      assert.include(textOf(real), '  // mine\n  "env": { "ANTHROPIC_BASE_URL": "http')
      assert.include(textOf(real), '"A": "1"')
      assert.strictEqual(modeOf(real), 0o640)

      const keyed = yield* run(...args, "--write", "--with-key", "--json")
      assert.notInclude(keyed.stdout + keyed.stderr, key)
      assert.deepInclude(JSON.parse(keyed.stdout), { changed: ["env.ANTHROPIC_AUTH_TOKEN"], written: true })
      assert.include(textOf(real), key)
      assert.strictEqual(modeOf(real), 0o600)
      const copies = readdirSync(dirname(real)).filter((name) => name.endsWith(".bak"))
      assert.lengthOf(copies, 2)
      for (const name of copies) assert.strictEqual(modeOf(join(dirname(real), name)), 0o600)
      assert.strictEqual(textOf(join(dirname(real), copies[0] ?? "")), mine)
      const back = yield* run(...args)
      assert.match(back.stderr, /env\.ANTHROPIC_AUTH_TOKEN is set\. Claude Code prefers it/)
    })
  )

  it.effect("leaves a file that it cannot read as it is, and says why", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      for (const [client, text, why] of [
        ["opencode", "{ nonsense", /not valid JSON near line 1/],
        ["codex", "model = \n", /not valid TOML/],
        ["continue", "models: [", /not YAML/],
        ["cline", '{"providers": []}', /cannot be set without other changes/]
      ] as const) {
        const file = join(directory, client)
        writeFileSync(file, text)
        const { code, stderr } = yield* run(client, "--model", "mock/echo", "--file", file, "--write")
        assert.strictEqual(code, 1)
        assert.match(stderr, why)
        assert.match(stderr, /was not changed: .*\n {2}Repair the file, or run the command without --write/)
        assert.strictEqual(textOf(file), text)
      }
      const folder = yield* run("codex", "--model", "mock/echo", "--file", directory, "--write")
      assert.strictEqual(folder.code, 1)
      assert.lengthOf(readdirSync(directory), 4)
    })
  )

  it.effect("asks the gateway whether the key may use the models", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* Served
      const file = join(yield* temporaryDirectory, "file")
      const failed = (...args: ReadonlyArray<string>) => run(...args, "--file", file)
      const unknown = yield* failed("codex", "--model", "mock/ecco")
      assert.strictEqual(unknown.code, 1)
      assert.match(unknown.stderr, /'mock\/ecco' does not exist.*mock\/echo/)
      assert.match((yield* failed("codex", "--model", "mock/embed")).stderr, /an embedding model/)
      assert.match((yield* failed("codex", "--small-model", "mock/no")).stderr, /'mock\/no' does not exist/)
      const { key: narrow } = yield* gateway.issueKey({ allowed_models: ["mock/lorem"] })
      const asked = ["setup", "opencode", "--file", file, "--url", gateway.url]
      const forbidden = yield* line([...asked, "--model", "mock/echo", "--key", narrow])
      assert.match(forbidden.stderr, /may not use the model 'mock\/echo'/)
      assert.include((yield* line([...asked, "--key", narrow])).stdout, "tollgate/mock/lorem")
      assert.strictEqual((yield* line([...asked, "--key", "tg-wrong"])).code, 1)

      const absent = ["setup", "codex", "--file", file, "--url", noAddress, "--key", key]
      const unasked = yield* line([...absent, "--model", "any/model"])
      assert.deepStrictEqual([unasked.code, unasked.stdout.includes('model = "any/model"')], [0, true])
      assert.match(unasked.stderr, /^tollgate: The models were not checked: No gateway answers at/)
      assert.strictEqual((yield* line([...absent, "--model", "any/model", "--check"])).code, 3)
      assert.strictEqual((yield* line([...absent, "--model", "mock/ecco", "--no-check"])).code, 0)
      assert.strictEqual((yield* line(absent)).code, 3)
    })
  )

  it.effect("is told what does not go together", () =>
    Effect.gen(function* () {
      assert.match((yield* run("cursor", "--write")).stderr, /Cursor keeps its settings in its window/)
      assert.match((yield* run("codex", "--write", "--dry-run")).stderr, /exclude each other/)
      const keyless = yield* line(["setup", "codex", "--model", "a/b", "--with-key", "--url", "http://gateway.example"])
      assert.deepStrictEqual([keyless.code, keyless.stdout], [2, ""])
    })
  )
})
