/** Old generations, by time and by settings. */
import * as IdempotencyMemory from "../../../src/store/idempotency/IdempotencyMemory.ts"
import * as ResponsesMemory from "../../../src/store/responses/ResponsesMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Retention from "../../../src/gateway/billing/Retention.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { RefusalStore } from "../../../src/store/refusals/RefusalStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

const DAY = 86_400_000

/** A ledger with `left` old generations, which records the calls. */
const upkeepWith = (options: Retention.RetentionOptions, left: number) =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const piece = (what: string) => (beforeMs: number, limit: number) =>
      Effect.suspend(() => {
        asked.push(`${what} before day ${beforeMs / DAY}`)
        // The database is away the first time.
        if (asked.length === 1) return Effect.fail(new StoreError({ dependency: "database", cause: null }))
        const moved = Math.min(limit, left)
        left -= moved
        return Effect.succeed(moved)
      })
    const generations = Layer.mock(GenerationStore, {
      archive: piece("archive"),
      deleteBefore: piece("delete"),
      deleteArchivedBefore: (beforeMs) => Effect.sync(() => void asked.push(`months before day ${beforeMs / DAY}`))
    })
    const refusals = Layer.mock(RefusalStore, {
      deleteBefore: (beforeMs) =>
        Effect.as(
          Effect.sync(() => void asked.push(`refusals before day ${beforeMs / DAY}`)),
          0
        )
    })
    yield* TestClock.setTime(100 * DAY)
    yield* Layer.build(Retention.layer(options)).pipe(
      Effect.provide(Layer.mergeAll(generations, refusals, IdempotencyMemory.layer, ResponsesMemory.layer))
    )
    yield* TestClock.adjust(0)
    return asked
  })

it.effect("moves old generations to the archive in batches, and again after half a minute", () =>
  Effect.gen(function* () {
    const asked = yield* upkeepWith({ archiveDays: 30, retentionDays: null }, 500)
    assert.deepStrictEqual(asked, ["archive before day 70"])
    yield* TestClock.adjust("31 seconds")
    assert.strictEqual(asked.length, 4)
    yield* TestClock.adjust("28 seconds")
    assert.strictEqual(asked.length, 4)
    yield* TestClock.adjust("3 seconds")
    assert.strictEqual(asked.length, 5)
  })
)

it.effect("archives nothing by default, and still deletes archived generations in time", () =>
  Effect.gen(function* () {
    const asked = yield* upkeepWith({ archiveDays: null, retentionDays: 60 }, 0)
    assert.deepStrictEqual(asked, ["months before day 40", "delete before day 40", "refusals before day 40"])
    assert.deepStrictEqual(yield* upkeepWith({ archiveDays: null, retentionDays: null }, 0), [])
    // Moving and dropping take turns.
    const both = yield* upkeepWith({ archiveDays: 30, retentionDays: 60 }, 0)
    assert.deepStrictEqual(
      both.filter((one) => !/^(?:delete|refusals)/.test(one)),
      ["archive before day 70", "months before day 40"]
    )
  })
)
