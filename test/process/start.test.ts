/** Starts: the one that needs no settings, the ones that must not succeed, and what a person is told. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { inject } from "vitest"
import { type Ended, type GatewayOptions, launchGateway, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const firstKeyOf = (output: string): string => /API key\s+(tg-\S+)/.exec(output)?.[1] ?? ""
const curlLines = (output: string): ReadonlyArray<string> =>
  output.split("\n").flatMap((line) => (line.trim().startsWith("curl ") ? [line.trim()] : []))

/** The start with nothing set but the port. */
const plain = (directory: string): GatewayOptions => ({ directory, env: { TOLLGATE_ADMIN_KEY: "" } })

/** Runs a line as a person would. Dies when there is no curl: install it (Debian, Ubuntu: apt-get install curl). */
const shell = (line: string) =>
  Effect.promise(async () => {
    const child = spawn("sh", ["-c", line], { stdio: ["ignore", "pipe", "pipe"] })
    const written = { stdout: "", stderr: "" }
    child.stdout.on("data", (chunk: Buffer) => (written.stdout += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (written.stderr += chunk.toString()))
    const [code] = (await once(child, "close")) as [number | null]
    if (code === 127) throw new Error(`this test needs curl (apt-get install curl): ${written.stderr}`)
    if (code !== 0) throw new Error(`${line} ended with ${code}: ${written.stderr}`)
    return written.stdout
  })

/** A start that must fail: how it ended, and what it said. */
const refusedStart = Effect.fnUntraced(function* (options: GatewayOptions) {
  const started = yield* launchGateway(options)
  const ended: Ended = yield* started.ended
  assert.isAbove(ended.code ?? 0, 0, `it ended with ${ended.signal ?? ended.code}: ${started.output()}`)
  assert.notMatch(started.output(), /^\s+at .*:\d+:\d+\)?$/m, "a person is shown a stack trace")
  return started.stderr()
})

describe("a start without settings", () => {
  it.live("shows three calls that work when they are pasted, and the same key at the next start", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const gateway = yield* startGateway(plain(directory))
      const output = yield* Effect.orDie(gateway.printed("Try it:"))
      const lines = curlLines(output)
      assert.lengthOf(lines, 3)
      const [whole = "", streamed = "", models = ""] = yield* Effect.forEach(lines, shell)
      const chat = JSON.parse(whole) as { readonly object: string; readonly choices: ReadonlyArray<unknown> }
      assert.strictEqual(chat.object, "chat.completion")
      assert.lengthOf(chat.choices, 1)
      assert.match(streamed, /^data: \{.*"chat\.completion\.chunk"/)
      assert.isTrue(streamed.trimEnd().endsWith("data: [DONE]"))
      const list = JSON.parse(models) as { readonly data: ReadonlyArray<{ readonly id: string }> }
      assert.include(
        list.data.map(({ id }) => id),
        "mock/echo"
      )

      const key = firstKeyOf(output)
      const adminKey = /\b(tga-\S+)/.exec(output)?.[1] ?? ""
      const keys = yield* gateway.send("/v1/keys", { headers: { "x-admin-key": adminKey } })
      assert.strictEqual(keys.status, 200)
      assert.deepStrictEqual(yield* gateway.stop, { code: 0, signal: null })

      const again = yield* startGateway(plain(directory))
      const second = yield* Effect.orDie(again.printed("Try it:"))
      assert.strictEqual(firstKeyOf(second), key)
      assert.notInclude(second, adminKey)
      assert.strictEqual((yield* again.send("/v1/key", { key })).status, 200)
      assert.strictEqual((yield* again.send("/v1/keys", { headers: { "x-admin-key": adminKey } })).status, 200)
    })
  )

  it.live("refuses a second process on one data directory, and leaves the first alone", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const first = yield* startGateway({ directory })
      const said = yield* refusedStart({ directory })
      assert.include(said, "is in use by another process")
      assert.include(said, ".tollgate")
      assert.strictEqual((yield* first.send("/health")).status, 200)
    })
  )
})

describe("a start that cannot succeed", () => {
  it.live("names every wrong and unknown setting at once, and prints no secret", () =>
    Effect.gen(function* () {
      const said = yield* refusedStart({
        env: {
          TOLLGATE_PORT: "eighty",
          TOLLGATE_PROT: "8787",
          DATABASE_URL: "mysql://someone:hunter2-hunter2@127.0.0.1/db",
          ALPHA_KEY: "sk-of-the-provider-123"
        },
        config: {
          providers: [
            {
              slug: "Alpha!",
              dialect: "openai",
              base_url: "nowhere",
              api_key: "${ALPHA_KEY}",
              models: [{ id: "test/small", pricing: { prompt: 1, completion: 1 } }]
            }
          ],
          caches: {}
        }
      })
      for (const setting of [
        "TOLLGATE_PORT",
        "TOLLGATE_PROT",
        "DATABASE_URL",
        "providers[0].slug",
        "providers[0].base_url",
        "caches"
      ]) {
        assert.isTrue(
          said.split("\n").some((line) => line.startsWith(`  ${setting} `) && line.includes("; expected ")),
          `${setting} is not named in: ${said}`
        )
      }
    })
  )

  it.live("says that the port is taken", () =>
    Effect.gen(function* () {
      const port = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createServer().listen(0, "127.0.0.1")
          await once(server, "listening")
          return server
        }),
        (server) => Effect.sync(() => void server.close())
      ).pipe(Effect.map((server) => (server.address() as AddressInfo).port))
      const said = yield* refusedStart({ env: { ...(yield* postgresEnv), TOLLGATE_PORT: String(port) } })
      assert.include(said, String(port))
      assert.match(said, /in use/i)
    })
  )

  it.live("says that there is no such database, without its password, and does not wait for one", () =>
    Effect.gen(function* () {
      const url = new URL(inject("postgresUrl"))
      url.pathname = "/nowhere"
      url.password = "a-password-of-postgres"
      const said = yield* refusedStart({ env: { DATABASE_URL: url.href } })
      assert.include(said, `database "nowhere" does not exist`)
    })
  )

  it.live("says that Redis does not answer, without its password, and waits for it", () =>
    Effect.gen(function* () {
      const url = "redis://:a-password-of-redis@127.0.0.1:1"
      const starting = yield* launchGateway({ env: { ...(yield* postgresEnv), REDIS_URL: url } })
      const said = yield* starting.printed("trying again")
      assert.include(said, "Redis at 127.0.0.1:1 does not answer")
      assert.deepStrictEqual(yield* starting.stop, { code: 0, signal: null })
    })
  )
})
