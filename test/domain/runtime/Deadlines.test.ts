import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeDeadlines } from "../../../src/domain/runtime/Deadlines.ts"

it.effect("a paused deadline expires only after it is restarted, and an ended one does not", () =>
  Effect.gen(function* () {
    const { begin } = yield* makeDeadlines(4_000)
    const late: Array<string> = []
    const paused = begin(() => void late.push("paused"))
    const ended = begin(() => void late.push("ended"))
    paused.pause()
    ended.end()
    yield* TestClock.adjust(20_000)
    assert.deepStrictEqual(late, [])
    paused.restart()
    yield* TestClock.adjust(3_000)
    assert.deepStrictEqual(late, [])
    yield* TestClock.adjust(2_000)
    assert.deepStrictEqual(late, ["paused"])
    yield* TestClock.adjust(20_000)
    assert.deepStrictEqual(late, ["paused"], "once")
    paused.restart()
    yield* TestClock.adjust(5_000)
    assert.deepStrictEqual(late, ["paused", "paused"])
  })
)
