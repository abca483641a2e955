/**
 * Graceful shutdown: running requests finish, new ones are rejected, the database is closed, and
 * the exit code is 0.
 */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { eventually, promptMarker, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { configFor, postgresEnv, providerEnv, upstream } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const body = { model: "test/small", stream: true, messages: [{ role: "user", content: promptMarker }] }
const beginning = [sse(chunkBody({ role: "assistant", content: "" })), sse(chunkBody({ content: "slow" }))]
const rest = [sse(chunkBody({ content: "ly" })), sse(chunkBody({}, "stop")), sse(usageChunkBody()), DONE]

interface Record {
  readonly cancelled: boolean
  readonly finish_reason: string | null
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
  readonly cost: { readonly billed_usd: number }
}

describe("an end that was asked for", () => {
  for (const [signal, database] of [
    ["SIGTERM", "the embedded database"],
    ["SIGINT", "Postgres"]
  ] as const) {
    it.live(`${signal}, on ${database}, lets a running stream finish, takes nothing new, and ends with 0`, () =>
      Effect.gen(function* () {
        const provider = yield* upstream
        yield* Effect.promise(() =>
          provider.script("small-2026", { chunks: [...beginning, { gate: "rest" }, ...rest] })
        )
        const directory = yield* temporaryDirectory
        const env = database === "Postgres" ? { ...providerEnv, ...(yield* postgresEnv) } : providerEnv
        const options = { directory, env, config: configFor(provider.url) }
        const gateway = yield* startGateway(options)
        const { key } = yield* gateway.issueKey()
        const stream = yield* gateway.stream("/v1/chat/completions", { key, body })
        yield* Effect.promise(() => stream.until(`"slow"`))

        // Leaves an idle connection, which must not delay the end.
        yield* Effect.promise(async () => (await fetch(`${gateway.url}/health/live`)).text())

        yield* gateway.signal(signal)
        yield* eventually(Effect.flip(gateway.send("/health/live", { limitMs: 1_000 })), 5_000, "a refused connection")
        yield* Effect.promise(() => provider.open("rest"))
        const text = yield* Effect.promise(() => stream.ended)
        assert.include(text, `"ly"`)
        assert.isTrue(text.endsWith(DONE))
        assert.deepStrictEqual(yield* gateway.ended, { code: 0, signal: null })

        const again = yield* startGateway(options)
        const id = String(stream.headers["x-generation-id"])
        const record = JSON.parse((yield* again.send(`/v1/generations/${id}`, { key })).text) as Record
        assert.deepInclude(record, { cancelled: false, finish_reason: "stop" })
        assert.include(record.usage, { prompt_tokens: 9, completion_tokens: 5 })
        assert.deepStrictEqual(yield* again.stop, { code: 0, signal: null })
      })
    )
  }

  it.live("cuts what the drain's limit is too short for, and bills what was produced", () =>
    Effect.gen(function* () {
      const provider = yield* upstream
      yield* Effect.promise(() => provider.script("small-2026", { chunks: beginning, ending: "hang" }))
      const options = {
        env: { ...providerEnv, ...(yield* postgresEnv), TOLLGATE_DRAIN_TIMEOUT_MS: "300" },
        config: configFor(provider.url)
      }
      const gateway = yield* startGateway(options)
      const { key } = yield* gateway.issueKey()
      const stream = yield* gateway.stream("/v1/chat/completions", { key, body })
      yield* Effect.promise(() => stream.until(`"slow"`))
      const ended = yield* Effect.timeout(gateway.stop, "20 seconds")
      assert.deepStrictEqual(ended, { code: 0, signal: null })
      yield* Effect.flip(Effect.tryPromise(() => stream.ended))
      const requests = yield* Effect.promise(() => provider.until(([request]) => request?.closedEarly === true))
      assert.lengthOf(requests, 1)

      const again = yield* startGateway(options)
      const id = String(stream.headers["x-generation-id"])
      const record = JSON.parse((yield* again.send(`/v1/generations/${id}`, { key })).text) as Record
      assert.isTrue(record.cancelled)
      assert.isAbove(record.usage.completion_tokens, 0)
      assert.isAbove(record.cost.billed_usd, 0)
    })
  )

  it.live("within the grace new requests are still answered, and told that their connection closes; ready is not", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway({ env: { TOLLGATE_SHUTDOWN_GRACE_MS: "60000" } })
      // Clients that keep sending requests on their open connection.
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const ask = (path: string) =>
        Effect.promise(async () => {
          const asking = request(`${gateway.url}${path}`, { agent })
          asking.end()
          const [response] = (await once(asking, "response")) as [IncomingMessage]
          response.resume()
          await once(response, "end")
          return [response.statusCode, response.headers.connection]
        })
      assert.deepStrictEqual(yield* ask("/health/ready"), [200, "keep-alive"])
      yield* gateway.signal("SIGTERM")
      yield* eventually(
        Effect.filterOrFail(ask("/health/ready"), ([status]) => status === 503),
        5_000,
        "ready is no more"
      )
      assert.deepStrictEqual(yield* ask("/health/ready"), [503, "close"])
      assert.deepStrictEqual(yield* ask("/health/live"), [200, "close"])
      agent.destroy()
      yield* gateway.signal("SIGKILL")
      yield* gateway.ended
    })
  )

  for (const asksAgain of [false, true]) {
    it.live(
      `ends as soon as nothing runs, also where a client keeps the connection of a stream that ended, and ${asksAgain ? "asks once more" : "asks no more"} on it`,
      () =>
        Effect.gen(function* () {
          const provider = yield* upstream
          yield* Effect.promise(() =>
            provider.script("small-2026", { chunks: [...beginning, { gate: "rest" }, ...rest] })
          )
          const gateway = yield* startGateway({
            env: { ...providerEnv, TOLLGATE_DRAIN_TIMEOUT_MS: "3600000" },
            config: configFor(provider.url)
          })
          const { key } = yield* gateway.issueKey()
          const agent = new Agent({ keepAlive: true })
          const asking = request(`${gateway.url}/v1/chat/completions`, {
            agent,
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }
          })
          asking.end(JSON.stringify(body))
          const [response] = (yield* Effect.promise(() => once(asking, "response"))) as [IncomingMessage]
          assert.strictEqual(response.headers.connection, "keep-alive")
          yield* gateway.signal("SIGTERM")
          yield* eventually(
            Effect.flip(gateway.send("/health/live", { limitMs: 1_000 })),
            5_000,
            "a refused connection"
          )
          yield* Effect.promise(() => provider.open("rest"))
          const read = Effect.promise(async () => {
            let text = ""
            for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString()
            return text
          })
          assert.isTrue((yield* read).endsWith(DONE))
          // It was not told that its connection closes.
          if (asksAgain) {
            const again = request(`${gateway.url}/health/live`, { agent }).end()
            const [last] = (yield* Effect.promise(() => once(again, "response"))) as [IncomingMessage]
            assert.deepStrictEqual([again.reusedSocket, last.statusCode, last.headers.connection], [true, 200, "close"])
          }
          assert.deepStrictEqual(yield* Effect.timeout(gateway.ended, "20 seconds"), { code: 0, signal: null })
          agent.destroy()
        })
    )
  }
})
