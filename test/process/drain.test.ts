/** Ends that were asked for: what runs is finished, nothing new is taken on, the database is closed, and the process says that all is well. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
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

        // Leaves an idle connection behind, which must not hold the end up.
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
})
