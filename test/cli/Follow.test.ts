/** `tollgate logs -f`: each request once, in spite of late ones and of failures. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { TollgateError, Unexpected, Unreachable } from "../../src/client/Client.ts"
import { follow, type Following } from "../../src/cli/requests/Follow.ts"
import { type RequestPage, type Row } from "../../src/cli/requests/Source.ts"
import { memoryStdio } from "./line.ts"

const rowAt = (id: string, arrivedMs: number): Row => ({
  id,
  created_at: new Date(arrivedMs).toISOString(),
  status: 200,
  end: "succeeded",
  error_type: null,
  error_message: null,
  count: 1,
  key_id: null,
  key_name: null,
  owner_name: null,
  model: "acme/small",
  provider: "fast",
  attempts: 1,
  fallback_used: false,
  cache_hit: false,
  latency_ms: 1,
  prompt_tokens: 1,
  completion_tokens: 1,
  billed_usd: 0
})

/** A gateway whose list has two rows a page, and that fails while `failure` is set. */
const scripted = () => {
  const rows: Array<Row> = []
  const state = { failure: null as TollgateError | null, readings: 0 }
  const list: Following["list"] = (query, limit, { cursor }) =>
    Effect.suspend(() => {
      state.readings += 1
      if (state.failure !== null) return Effect.fail(state.failure)
      const sorted = rows
        .filter(({ created_at }) => query.from === undefined || created_at >= query.from)
        .toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1))
      const from = cursor === undefined ? 0 : Number(cursor)
      const size = Math.min(limit, 2)
      const data = sorted.slice(from, from + size).map((row) => ({ row, entry: row }))
      const next = from + size < sorted.length ? String(from + size) : null
      return Effect.succeed({ body: null, data, next_cursor: next } satisfies RequestPage as RequestPage)
    })
  return { rows, state, list }
}

const following = Effect.fnUntraced(function* (before: number, { list }: ReturnType<typeof scripted>) {
  const shown: Array<string> = []
  const failures: Array<number> = []
  const fiber = yield* follow({
    list,
    query: {},
    before,
    onRequests: (entries) => Effect.sync(() => void shown.push(...entries.map(({ row }) => row.id))),
    onFailure: (_, pauseSeconds) => Effect.sync(() => void failures.push(pauseSeconds))
  }).pipe(Effect.provide(memoryStdio().layer), Effect.forkChild)
  yield* TestClock.adjust("1 millis")
  return { shown, failures, fiber }
})

describe("requests are followed", () => {
  it.effect("from the last ones on, each once, also those that began long before they ended", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(3_600_000)
      const gateway = scripted()
      gateway.rows.push(rowAt("old", 3_000_000), rowAt("a", 3_590_000), rowAt("b", 3_595_000))
      const { shown } = yield* following(1, gateway)
      assert.deepStrictEqual(shown, ["b"])
      gateway.rows.push(rowAt("c", 3_600_500), rowAt("d", 3_600_600), rowAt("e", 3_600_700))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(shown, ["b", "c", "d", "e"])
      // It began nine minutes ago and ends now.
      gateway.rows.push(rowAt("late", 3_060_000), rowAt("f", 3_602_000))
      yield* TestClock.adjust("30 seconds")
      assert.sameMembers(shown.slice(4), ["f", "late"])
      yield* TestClock.adjust("5 minutes")
      assert.lengthOf(shown, 6)
    })
  )

  it.effect("through failures that pass, with longer and longer pauses, without a gap", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(3_600_000)
      const gateway = scripted()
      const { failures, shown } = yield* following(0, gateway)
      gateway.state.failure = new TollgateError({ reason: new Unreachable({ url: "http://gateway", cause: "gone" }) })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(failures.slice(0, 7), [1, 2, 4, 8, 16, 30, 30])
      gateway.rows.push(rowAt("meanwhile", 3_700_000))
      gateway.state.failure = null
      yield* TestClock.adjust("31 seconds")
      assert.deepStrictEqual(shown, ["meanwhile"])
      const before = gateway.state.readings
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(gateway.state.readings - before, 16)
    })
  )

  it.effect("until a reading is refused for good", () =>
    Effect.gen(function* () {
      const gateway = scripted()
      const { fiber } = yield* following(0, gateway)
      gateway.state.failure = new TollgateError({ reason: new Unexpected({ status: 404, cause: "other" }) })
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
    })
  )
})
