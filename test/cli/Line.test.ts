/**
 * The command line with invalid arguments, with unreachable or failing gateways, and in its own
 * process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Command } from "effect/cli"
import { TestClock } from "effect/testing"
import { withProgress } from "../../src/cli/Progress.ts"
import { tollgate } from "../../src/cli/Tollgate.ts"
import { temporaryDirectory } from "../support/Gateway.ts"
import { startUpstream } from "../support/upstream/Upstream.ts"
import { type Around, line, loadedBy, memoryStdio, startLine } from "./line.ts"

/** Starts processes, on a machine that may be busy. */
const SLOW_MACHINE_MS = 120_000

const chunk = (members: object) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", provider: "p", ...members })}\n\n`
const says = (content: string) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })

describe("a line", () => {
  it.effect("that is wrong ends with 2, says why and names the help", () =>
    Effect.gen(function* () {
      for (const [args, why] of [
        [["modls"], /Unknown subcommand "modls".*\n(?:.*\n)*.*models\n {2}See tollgate --help\./],
        [["keys", "create"], /Missing required argument: name\n {2}See tollgate keys create --help\./],
        [["keys", "create", "ci", "--tier", "gold"], /gold/],
        [["models", "--colour"], /--colour/],
        [["models", "--url", "gateway"], /"gateway" is not a gateway's address/],
        [["keys"], /SUBCOMMANDS/]
      ] as const) {
        const { code, stderr, stdout } = yield* line(args)
        assert.deepStrictEqual([code, stdout], [2, ""], args.join(" "))
        assert.match(stderr, why)
      }
      const { stderr } = yield* line(["keys", "create", "--json"])
      assert.deepStrictEqual(JSON.parse(stderr), {
        error: { type: "usage", message: "Missing required argument: name", remedy: "tollgate keys create --help" }
      })
    })
  )

  it.effect("shows help, its version and completions on stdout when asked", () =>
    Effect.gen(function* () {
      const help = yield* line(["chat", "--help"])
      assert.strictEqual(help.code, 0)
      assert.match(help.stdout, /tollgate chat \[flags\].*\n(?:.*\n)*.*--max-tokens/)
      const completions = yield* line(["--completions", "bash"])
      assert.match(completions.stdout, /rotate[\s\S]*--max-tokens|--max-tokens[\s\S]*rotate/)
      assert.match((yield* line(["--version"])).stdout, /^tollgate \d+\.\d+\.\d+\n$/)
    })
  )

  it.effect("asks for help by a word, by a flag and for a command that does not exist", () =>
    Effect.gen(function* () {
      for (const words of [[], ["chat"], ["keys", "create"], ["keys", "ls"]]) {
        const help = yield* line(["help", ...words])
        assert.deepStrictEqual(help, yield* line([...words, "--help"]), words.join(" "))
        assert.strictEqual(help.code, 0)
        const isRoot = words.length === 0
        assert.strictEqual(help.stdout.includes("--admin-key"), isRoot, words.join(" "))
        if (!isRoot) assert.include(help.stdout, "Run 'tollgate --help' for global flags")
      }
      const unknown = yield* line(["help", "keys", "crete"])
      assert.deepStrictEqual([unknown.code, unknown.stdout], [2, ""])
      assert.match(unknown.stderr, /Unknown subcommand "crete".*\n(?:.*\n)*.*create\n/)
    })
  )

  it.effect("has an example in the help of every command", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const visit = (
        command: typeof tollgate | Command.Command.Any,
        path: ReadonlyArray<string>
      ): Effect.Effect<void> =>
        Effect.gen(function* () {
          const below = command.subcommands.flatMap(({ commands }) => [...commands])
          if (below.length === 0) {
            const { stdout } = yield* line([...path, "--help"])
            assert.include(stdout, `EXAMPLES\n`, path.join(" "))
            assert.include(stdout.slice(stdout.indexOf("EXAMPLES")), `tollgate ${path.join(" ")}`)
            seen.push(path.join(" "))
          }
          for (const each of below) yield* visit(each, [...path, each.name])
        })
      yield* visit(tollgate, [])
      assert.includeMembers(seen, ["chat", "keys create"])
    })
  )

  it.effect("is coloured where a terminal reads it, unless the environment or a flag says otherwise", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [isColoured: boolean, args: ReadonlyArray<string>, around: Around]> = [
        [false, [], {}],
        [true, [], { isTerminal: true }],
        [false, [], { isTerminal: true, env: { NO_COLOR: "1" } }],
        [false, [], { isTerminal: true, env: { TERM: "dumb" } }],
        [true, [], { env: { FORCE_COLOR: "1" } }],
        [true, ["--color"], { env: { NO_COLOR: "1" } }],
        [false, ["--no-color"], { isTerminal: true }]
      ]
      for (const [isColoured, args, around] of cases) {
        const help = yield* line(["--help", ...args], around)
        const wrong = yield* line(["models", "--url", "gateway", ...args], around)
        const seen = [help.stdout.includes("\u001b["), wrong.stderr.includes("\u001b[31mtollgate:")]
        assert.deepStrictEqual(seen, [isColoured, isColoured], JSON.stringify([args, around]))
      }
    })
  )

  it.effect("that is wrong or asks for help loads neither the contract nor HTTP nor the gateway", () =>
    Effect.gen(function* () {
      const heavy =
        /src\/(?:client|http|gateway|store|providers)\/|src\/api\/(?!Version)|src\/Settings\.ts|effect\/dist\/http-api|FetchHttpClient|undici/
      for (const args of [["--help"], ["--version"], ["help", "chat"], ["modls"]]) {
        const { stdout } = yield* loadedBy(args)
        const loaded = stdout.split("\n").filter((url) => url.startsWith("file:"))
        assert.isTrue(loaded.some((url) => url.endsWith("/src/cli/Run.ts")))
        assert.deepStrictEqual(
          loaded.filter((url) => heavy.test(url)),
          []
        )
      }
    })
  )

  it.effect("is told what takes long, on a terminal only, until it is over", () =>
    Effect.gen(function* () {
      for (const isTerminal of [true, false]) {
        const { layer, written } = memoryStdio({ isTerminal })
        const work = Effect.sleep("2500 millis").pipe(withProgress("working"), Effect.provide(layer))
        const fiber = yield* Effect.forkChild(work)
        yield* TestClock.adjust("999 millis")
        assert.strictEqual(written.stderr, "")
        yield* TestClock.adjust("1501 millis")
        yield* Fiber.join(fiber)
        const clear = "\r\u001b[K"
        assert.strictEqual(written.stderr, isTerminal ? `${clear}working ... 1 s${clear}working ... 2 s${clear}` : "")
      }
    })
  )
})

describe("a gateway that fails", () => {
  it.live("ends with 3 when nobody or a stranger answers or the answer is cut, with 1 when it gives up", () =>
    Effect.gen(function* () {
      const { origin, script, stop } = yield* Effect.acquireRelease(Effect.promise(startUpstream), ({ stop }) =>
        Effect.promise(stop)
      )
      const error = {
        type: "provider_error",
        code: null,
        message: "It broke.",
        param: null,
        request_id: "req_1",
        retryable: true,
        retry_after: null,
        details: {}
      }
      const ended = chunk({ choices: [{ index: 0, delta: {}, finish_reason: "error" }], error })
      yield* Effect.promise(() => script("cut", { chunks: [says("Hel")], ending: "end" }))
      yield* Effect.promise(() => script("proxy", { status: 502, body: "<h1>Bad gateway</h1>" }))
      yield* Effect.promise(() => script("broken", { chunks: [says("Hel"), ended, "data: [DONE]\n\n"] }))
      const chat = (model: string) => line(["chat", "-m", model, "--url", origin, "--key", "tg-x", "hello"])

      const cut = yield* chat("cut")
      assert.deepStrictEqual([cut.code, cut.stdout], [3, "Hel\n"])
      assert.match(cut.stderr, /^tollgate: The connection ended before the answer was complete\.\n$/)

      const stranger = yield* chat("proxy")
      assert.strictEqual(stranger.code, 3)
      assert.match(stranger.stderr, /status 502.*\n {2}Check that the address belongs to a gateway/)

      const broken = yield* chat("broken")
      assert.deepStrictEqual([broken.code, broken.stdout], [1, "Hel\n"])
      assert.match(broken.stderr, /^tollgate: It broke\.\n {2}Request id: req_1\n$/)

      yield* Effect.promise(stop)
      const nobody = yield* chat("cut")
      assert.strictEqual(nobody.code, 3)
      assert.match(nobody.stderr, /No gateway answers at http.*ECONNREFUSED.*\n {2}Start a gateway/)
    })
  )
})

describe("scripts/tollgate", () => {
  it.live(
    "takes its settings from the environment, shows text as it comes, and exits with the code",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryDirectory
        const { open, origin, script } = yield* Effect.acquireRelease(Effect.promise(startUpstream), ({ stop }) =>
          Effect.promise(stop)
        )
        yield* Effect.promise(() =>
          script("slow", { chunks: [says("Hel"), { gate: "rest" }, says("lo"), "data: [DONE]\n\n"] })
        )
        const env = { TOLLGATE_URL: origin, TOLLGATE_API_KEY: "tg-x" }
        const chat = yield* startLine(["chat", "-m", "slow", "hello"], { cwd, env })
        const wrong = yield* startLine(["chat", "--max-tokens", "many", "hello"], { cwd, env })
        yield* chat.matched(/^Hel/)
        yield* Effect.promise(() => open("rest"))
        const { code, stdout } = yield* chat.ended
        assert.deepStrictEqual([code, stdout], [0, "Hello\n"])
        assert.strictEqual((yield* wrong.ended).code, 2)
      }),
    SLOW_MACHINE_MS
  )
})
