/**
 * Responses that end while the database is away: each is charged its cost once the database is
 * back, also if the settings are reloaded or the process is stopped meanwhile.
 */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { eventually, type Gateway, promptMarker, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { configFor, providerEnv, removablePostgres, upstream } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const RECOVERY_MS = 20_000

interface Record {
  readonly usage_source: string
  readonly finish_reason: string | null
  readonly cost: { readonly billed_usd: number }
}

const body = { model: "test/small", stream: true, messages: [{ role: "user", content: promptMarker }] }
/** Waits at a gate before its last words. */
const answer = (gate: string) => ({
  chunks: [
    sse(chunkBody({ role: "assistant", content: "" })),
    sse(chunkBody({ content: "slow" })),
    { gate },
    sse(chunkBody({ content: "ly" })),
    sse(chunkBody({}, "stop")),
    sse(usageChunkBody()),
    DONE
  ]
})

it.live("are settled exactly: over a reload of the settings, and over the end of the process", () =>
  Effect.gen(function* () {
    const provider = yield* upstream
    const database = yield* removablePostgres
    const options = {
      directory: yield* temporaryDirectory,
      env: { ...providerEnv, DATABASE_URL: database.url },
      config: configFor(provider.url, { cache: { enabled: false } })
    }
    const gateway = yield* startGateway(options)
    const { key } = yield* gateway.issueKey({ monthly_budget_usd: 1 })

    /** A response that ends without the database. `meanwhile` runs during it. */
    const answered = Effect.fnUntraced(function* (gate: string, meanwhile: Effect.Effect<unknown, unknown>) {
      yield* Effect.promise(() => provider.script("small-2026", answer(gate)))
      const stream = yield* gateway.stream("/v1/chat/completions", { key, body })
      yield* Effect.promise(() => stream.until(`"slow"`))
      yield* meanwhile
      yield* database.down
      yield* Effect.promise(() => provider.open(gate))
      assert.isTrue((yield* Effect.promise(() => stream.ended)).endsWith(DONE))
      return String(stream.headers["x-generation-id"])
    })
    const assertExact = Effect.fnUntraced(function* (on: Gateway, id: string) {
      const { text } = yield* eventually(
        Effect.filterOrFail(on.send(`/v1/generations/${id}`, { key }), ({ status }) => status === 200),
        RECOVERY_MS,
        "the generation"
      )
      const record = JSON.parse(text) as Record
      assert.deepInclude(record, { usage_source: "provider", finish_reason: "stop" })
      // 9 prompt tokens and 5 completion tokens, at 2 and 8 USD a million.
      assert.strictEqual(record.cost.billed_usd, 0.000058)
    })

    const reloaded = Effect.andThen(gateway.signal("SIGHUP"), gateway.printed("the settings file was reloaded"))
    const first = yield* answered("first", reloaded)
    yield* database.up
    yield* assertExact(gateway, first)

    const second = yield* answered("second", Effect.void)
    yield* gateway.signal("SIGTERM")
    yield* gateway.printed("waiting for the database to take 1 settlement(s)")
    yield* database.up
    assert.deepStrictEqual(yield* gateway.ended, { code: 0, signal: null })
    const again = yield* startGateway(options)
    yield* assertExact(again, second)
    const balance = JSON.parse((yield* again.send("/v1/key", { key })).text) as {
      readonly usage: { readonly month_spent_usd: number; readonly month_reserved_usd: number }
    }
    assert.deepInclude(balance.usage, { month_spent_usd: 0.000116, month_reserved_usd: 0 })
  })
)
