/** `tollgate prices refresh`, with a real server of lists that scripts/sign-prices.ts signed. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { startLine } from "./line.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 })

const script = fileURLToPath(new URL("../../scripts/sign-prices.ts", import.meta.url))
const signing = (...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, [script, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })

const MODEL = "openai/gpt-4o-mini"

const listOf = (issued_at: string, prompt: number, model = MODEL) => ({
  object: "tollgate.prices",
  issued_at,
  prices: {
    openai: {
      [model]: { prompt, completion: 0.6, cached_prompt: 0.075 },
      "openai/not-served-here": { prompt: 1, completion: 2 }
    },
    "a-vendor-of-tomorrow": {
      "a/model": { prompt: 1, completion: 2, tiers: [{ above_prompt_tokens: 9, prompt: 2, completion: 4 }] }
    }
  }
})

/** Answers every request with `reply.body`, and counts them. */
const serving = Effect.acquireRelease(
  Effect.promise(async () => {
    const reply = { body: "", status: 200, asked: 0 }
    const server = createServer((_request, response) => {
      reply.asked++
      response.writeHead(reply.status, { location: "/elsewhere" }).end(reply.body)
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    return { reply, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/prices.json` }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    })
)

const world = Effect.gen(function* () {
  const cwd = yield* temporaryDirectory
  const { reply, url } = yield* serving
  const key = join(cwd, "prices.pem")
  const publicKey = signing("key", key).trim()
  const settings = { prices: { url, public_key: publicKey } }
  writeFileSync(join(cwd, "tollgate.yaml"), JSON.stringify(settings))
  const signed = (list: unknown): string => {
    writeFileSync(join(cwd, "list.json"), JSON.stringify(list, null, 4))
    return signing("sign", key, join(cwd, "list.json"))
  }
  const refresh = (...flags: ReadonlyArray<string>) =>
    Effect.flatMap(
      startLine(["prices", "refresh", "--json", ...flags], { cwd, env: { OPENAI_API_KEY: "sk-nobody-calls-it" } }),
      ({ ended }) => ended
    )
  return { cwd, key, publicKey, refresh, reply, settings, signed, accepted: join(cwd, "tollgate.prices.json") }
})

describe("prices refresh", () => {
  it.live("shows the differences, applies them when told to, and a gateway bills by them", () =>
    Effect.gen(function* () {
      const { accepted, cwd, key, refresh, reply, settings, signed } = yield* world
      assert.strictEqual(statSync(key).mode & 0o777, 0o600)
      reply.body = signed(listOf("2026-11-20T00:00:00Z", 0.3))
      const shown = yield* refresh()
      assert.strictEqual(shown.code, 4, shown.stderr)
      const { applied, changes, served } = JSON.parse(shown.stdout)
      assert.deepStrictEqual([applied, served], [false, 1])
      assert.deepStrictEqual(changes, [
        {
          provider: "openai",
          model: MODEL,
          before: { prompt: 0.15, completion: 0.6, cached_prompt: 0.075 },
          after: { prompt: 0.3, completion: 0.6, cached_prompt: 0.075 }
        }
      ])
      assert.isFalse(existsSync(accepted))

      assert.strictEqual((yield* refresh("--yes")).code, 0)
      assert.strictEqual(readFileSync(accepted, "utf8"), reply.body)
      const again = yield* refresh("--yes")
      assert.deepStrictEqual([again.code, JSON.parse(again.stdout).applied], [0, false])

      const asked = reply.asked
      const gateway = yield* startGateway({
        directory: cwd,
        config: settings,
        env: { OPENAI_API_KEY: "sk-nobody-calls-it" },
        secrets: ["sk-nobody-calls-it"]
      })
      const { key: apiKey } = yield* gateway.issueKey()
      const { text } = yield* gateway.send("/v1/models", { key: apiKey })
      const models = JSON.parse(text).data as ReadonlyArray<{
        readonly id: string
        readonly pricing: { readonly prompt: string }
      }>
      assert.strictEqual(Number(models.find(({ id }) => id === MODEL)?.pricing.prompt) * 1e6, 0.3)
      // The gateway itself fetches nothing.
      assert.strictEqual(reply.asked, asked)
    })
  )

  it.live("refuses lists that are unsigned, changed, older, absurd or no lists, and keeps the accepted one", () =>
    Effect.gen(function* () {
      const { accepted, cwd, refresh, reply, signed } = yield* world
      reply.body = signed(listOf("2026-11-20T00:00:00Z", 0.3))
      assert.strictEqual((yield* refresh("--yes")).code, 0)
      const kept = readFileSync(accepted, "utf8")
      const good = JSON.parse(signed(listOf("2026-11-21T00:00:00Z", 0.2)))
      signing("key", join(cwd, "other.pem"))
      const foreign = signing("sign", join(cwd, "other.pem"), join(cwd, "list.json"))
      const faults: ReadonlyArray<readonly [body: string, says: string]> = [
        [JSON.stringify(good.list), "is not a signed list"],
        [JSON.stringify({ ...good, signature: "" }), "is not signed with the key"],
        [foreign, "is not signed with the key"],
        [JSON.stringify({ ...good, list: listOf("2026-11-21T00:00:00Z", 0.1) }), "is not signed with the key"],
        [signed(listOf("2026-11-19T00:00:00Z", 0.3)), "before the accepted one"],
        [signed(listOf("2999-01-01T00:00:00Z", 0.3)), "in the future"],
        [signed(listOf("2026-11-21T00:00:00Z", 3.1)), "more than 10 times"],
        [signed(listOf("2026-11-21T00:00:00Z", 0)), "or to nothing"],
        [`${" ".repeat(5 * 1024 * 1024)}{}`, "bytes"],
        ["<html>", "is not a signed list"]
      ]
      for (const [body, says] of faults) {
        reply.body = body
        const { code, stderr } = yield* refresh("--yes")
        assert.strictEqual(code, 1, says)
        assert.include(stderr, says)
        assert.strictEqual(readFileSync(accepted, "utf8"), kept)
      }
      reply.status = 302
      assert.include((yield* refresh("--yes")).stderr, "answered 302")

      // A file that was changed after it was accepted stops the start.
      writeFileSync(accepted, kept.replace("0.3", "0.2"))
      const { ended } = yield* startLine(["check"], { cwd, env: { OPENAI_API_KEY: "sk-nobody-calls-it" } })
      const checked = yield* ended
      assert.strictEqual(checked.code, 1)
      assert.include(checked.stdout, "prices.file is not signed with the key of prices.public_key")
    })
  )

  it.live("says what is missing, and signs only what a gateway accepts", () =>
    Effect.gen(function* () {
      const { cwd, key, publicKey, refresh, settings, signed } = yield* world
      assert.throws(() => signed({ ...listOf("2026-11-20T00:00:00Z", 0.3), more: 1 }))
      assert.throws(() => signed(listOf("yesterday", 0.3)))
      assert.throws(() => signed(listOf("2026-11-20T00:00:00Z", -1)))
      assert.throws(() => signing("key", key))
      const configured = (prices: unknown) => writeFileSync(join(cwd, "tollgate.yaml"), JSON.stringify({ prices }))
      configured(undefined)
      const unset = yield* refresh()
      assert.deepStrictEqual([unset.code, unset.stdout], [2, ""])
      assert.include(unset.stderr, "prices.url")
      configured({ ...settings.prices, url: "http://prices.example.com/list" })
      assert.include((yield* refresh()).stderr, "prices.url is")
      configured({ ...settings.prices, public_key: publicKey.slice(8) })
      assert.include((yield* refresh()).stderr, "prices.public_key is")
      configured({ ...settings.prices, url: "http://127.0.0.1:9/list" })
      assert.strictEqual((yield* refresh()).code, 3)
    })
  )
})
