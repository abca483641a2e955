/** Starts: one without settings, ones that must fail, and the startup banner. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { hostname } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { mockProvider } from "../../src/providers/presets/Mock.ts"
import { bannerText } from "../../src/StartupBanner.ts"
import { type Ended, type GatewayOptions, launchGateway, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

/** The keys in the files of a first start. */
const keysIn = (directory: string) => {
  const read = (name: string) => readFileSync(join(directory, ".tollgate", name), "utf8").trim()
  return { adminKey: read("admin.key"), firstKey: read("first-api-key") }
}
const curlLines = (output: string): ReadonlyArray<string> =>
  output.split("\n").flatMap((line) => (line.trim().startsWith("curl ") ? [line.trim()] : []))

/** A start with only the port set. */
const plain = (directory: string): GatewayOptions => ({ directory, env: { TOLLGATE_ADMIN_KEY: "" } })

/** Runs a shell command. Dies without curl: install it (Debian, Ubuntu: apt-get install curl). */
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

/** A start that must fail. Returns its output. */
const refusedStart = Effect.fnUntraced(function* (options: GatewayOptions) {
  const started = yield* launchGateway(options)
  const ended: Ended = yield* started.ended
  assert.isAbove(ended.code ?? 0, 0, `it ended with ${ended.signal ?? ended.code}: ${started.output()}`)
  assert.notMatch(started.output(), /^\s+at .*:\d+:\d+\)?$/m, "a person is shown a stack trace")
  return started.stderr()
})

describe("a start without settings", () => {
  it.live("keeps its keys in files before it is ready, shows none of them, and has the same at the next start", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const gateway = yield* startGateway(plain(directory))
      const { adminKey, firstKey } = keysIn(directory)
      assert.match(firstKey, /^tg-\S+$/)
      assert.match(adminKey, /^tga-\S+$/)
      const first = yield* gateway.send("/v1/key", { key: firstKey })
      assert.strictEqual(first.status, 200)
      assert.deepInclude(JSON.parse(first.text), { tier: "pro", monthly_budget_usd: 5 })
      const keys = yield* gateway.send("/v1/keys", { headers: { "x-admin-key": adminKey } })
      assert.strictEqual(keys.status, 200)
      assert.deepStrictEqual(yield* gateway.stop, { code: 0, signal: null })

      const again = yield* startGateway(plain(directory))
      assert.deepStrictEqual(keysIn(directory), { adminKey, firstKey })
      assert.strictEqual((yield* again.send("/v1/key", { key: firstKey })).status, 200)
      for (const output of [gateway.output(), again.output()]) {
        assert.notInclude(output, firstKey)
        assert.notInclude(output, adminKey)
        // One JSON object per line.
        for (const line of output.split("\n")) if (line.trim() !== "") JSON.parse(line)
        assert.include(output, "first-api-key")
        assert.include(output, "admin.key")
      }
    })
  )

  it.live("tells a person three calls that work when they are pasted", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { url } = yield* startGateway(plain(directory))
      const firstKeyFile = join(directory, ".tollgate/first-api-key")
      const text = bannerText({
        url,
        consoleUrl: `${url}/console`,
        providers: [mockProvider],
        adminKeyFile: "admin.key",
        firstKeyFile,
        mailbox: false
      })
      assert.include(text, "tollgate is ready: mock (3 models)\n")
      assert.notInclude(text, keysIn(directory).firstKey)
      const exports = text.split("\n").filter((line) => line.trim().startsWith("export "))
      const lines = curlLines(text).map((line) => [...exports, line].join("\n"))
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
    })
  )

  it.live("tells a person who reads it elsewhere than on a terminal where the keys are, and not what they are", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const options = plain(directory)
      const started = yield* launchGateway({ ...options, env: { ...options.env, TOLLGATE_LOG_FORMAT: "pretty" } })
      const output = yield* Effect.orDie(started.printed("/v1/models"))
      const { adminKey, firstKey } = keysIn(directory)
      assert.include(output, "Try it:")
      assert.include(output, `export TOLLGATE_API_KEY=$(cat '${join(directory, ".tollgate/first-api-key")}')`)
      assert.notInclude(output, firstKey)
      assert.notInclude(output, adminKey)
    })
  )

  it.live("refuses a second process on one data directory, and leaves the first alone", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const first = yield* startGateway({ directory })
      const said = yield* refusedStart({ directory })
      assert.include(said, `is in use by another process (${first.pid}). Stop that process, or set TOLLGATE_DATA_DIR`)
      assert.include(said, ".tollgate")
      assert.strictEqual((yield* first.send("/health")).status, 200)
    })
  )
})

describe("a start that cannot succeed", () => {
  it.live("says which process is on the same Postgres already, unless both count limits in Redis", () =>
    Effect.gen(function* () {
      const env = yield* postgresEnv
      const withRedis = { ...env, REDIS_URL: inject("redisUrl") }
      const first = yield* startGateway({ env: withRedis })
      const [said] = yield* Effect.all([refusedStart({ env }), startGateway({ env: withRedis })], {
        concurrency: "unbounded"
      })
      assert.include(said, `process ${first.pid} on ${hostname()}`)
      assert.include(said, "set REDIS_URL for every process, or stop the other one")
      assert.strictEqual((yield* first.send("/health")).status, 200)
    })
  )

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

  it.live("says that the port is taken, by which process, and what to set", () =>
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
      const who = process.platform === "linux" ? `process ${process.pid}` : "another program"
      assert.include(said, `${who} listens on port ${port} already. Stop it, or set TOLLGATE_PORT to another port`)
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

  it.live("says that this machine does not have the address", () =>
    Effect.gen(function* () {
      const said = yield* refusedStart({ env: { ...(yield* postgresEnv), TOLLGATE_HOST: "192.0.2.1" } })
      assert.include(said, "this machine has no address 192.0.2.1. Set TOLLGATE_HOST")
    })
  )

  it.live("says why the database does not answer, and waits for it", () =>
    Effect.gen(function* () {
      const url = "postgres://someone:a-password-of-postgres@127.0.0.1:1/tollgate"
      const starting = yield* launchGateway({ env: { DATABASE_URL: url } })
      const said = yield* starting.printed("trying for a minute")
      assert.include(said, "the database does not answer (connect ECONNREFUSED 127.0.0.1:1)")
      assert.deepStrictEqual(yield* starting.stop, { code: 0, signal: null })
    })
  )

  it.live("says that Redis does not answer, without its password, and waits for it", () =>
    Effect.gen(function* () {
      const url = "redis://:a-password-of-redis@127.0.0.1:1"
      const starting = yield* launchGateway({ env: { ...(yield* postgresEnv), REDIS_URL: url } })
      const said = yield* starting.printed("trying for a minute")
      assert.include(said, "Redis at 127.0.0.1:1 does not answer")
      assert.deepStrictEqual(yield* starting.stop, { code: 0, signal: null })
    })
  )
})
