/** Which writes form a group, and when a second group is written next to a slow one. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import { makeWriteBatcher } from "../../../src/store/ledger/WriteBatcher.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

interface Group {
  readonly entries: ReadonlyArray<string>
  readonly end: (exit: Exit.Exit<void, StoreError>) => Effect.Effect<boolean>
}

/** Groups of entries, written when the test says so. */
const made = Effect.gen(function* () {
  const begun = yield* Queue.unbounded<Group>()
  const { write } = yield* makeWriteBatcher<string, string>({
    concurrency: 2,
    groupSize: 3,
    writeGroup: Effect.fnUntraced(function* (entries) {
      const ended = yield* Deferred.make<void, StoreError>()
      yield* Queue.offer(begun, { entries, end: (exit) => Deferred.done(ended, exit) })
      yield* Deferred.await(ended)
      return entries.map((entry) => `${entry} is written`)
    })
  })
  return {
    next: Queue.take(begun),
    waiting: Queue.size(begun),
    write: (id: string, entry = id) => Effect.forkChild(write(id, entry), { startImmediately: true })
  }
})

it.effect("a write carries all entries that arrived during the one before", () =>
  Effect.gen(function* () {
    const { next, waiting, write } = yield* made
    const first = yield* write("a")
    const group = yield* next
    assert.deepStrictEqual(group.entries, ["a"])
    const others = [yield* write("b"), yield* write("c")]
    yield* TestClock.adjust("5 millis")
    others.push(yield* write("d"), yield* write("e"))
    yield* TestClock.adjust("1 milli")
    assert.strictEqual(yield* waiting, 0)
    yield* group.end(Exit.void)
    assert.strictEqual(yield* Fiber.join(first), "a is written")
    for (const entries of [["b", "c", "d"], ["e"]]) {
      const follower = yield* next
      assert.deepStrictEqual(follower.entries, entries)
      yield* follower.end(Exit.void)
    }
    assert.deepStrictEqual(
      yield* Effect.forEach(others, Fiber.join),
      ["b", "c", "d", "e"].map((entry) => `${entry} is written`)
    )
  })
)

it.effect("a second write begins next to a slow one, and no third", () =>
  Effect.gen(function* () {
    const { next, waiting, write } = yield* made
    yield* write("a")
    const slow = yield* next
    const early = yield* write("b")
    yield* TestClock.adjust("10 millis")
    const late = yield* write("c")
    const beside = yield* next
    assert.deepStrictEqual(beside.entries, ["b", "c"])
    yield* TestClock.adjust("1 minute")
    const last = yield* write("d")
    yield* TestClock.adjust("1 milli")
    assert.strictEqual(yield* waiting, 0)
    yield* beside.end(Exit.void)
    yield* Fiber.join(early)
    yield* Fiber.join(late)
    const follower = yield* next
    assert.deepStrictEqual(follower.entries, ["d"])
    yield* follower.end(Exit.void)
    yield* Fiber.join(last)
    yield* slow.end(Exit.void)
  })
)

it.effect("entries of one id are written one after the other, and a failed group fails all that wait for it", () =>
  Effect.gen(function* () {
    const { next, write } = yield* made
    const first = yield* write("a", "first")
    const group = yield* next
    const second = yield* write("a", "second")
    yield* TestClock.adjust("1 second")
    const other = yield* write("b")
    const beside = yield* next
    assert.deepStrictEqual(beside.entries, ["b"])
    yield* group.end(Exit.void)
    assert.strictEqual(yield* Fiber.join(first), "first is written")
    const after = yield* next
    assert.deepStrictEqual(after.entries, ["second"])
    yield* after.end(Exit.fail(new StoreError({ dependency: "database", cause: null })))
    assert.strictEqual((yield* Effect.flip(Fiber.join(second))).dependency, "database")
    yield* beside.end(Exit.void)
    assert.strictEqual(yield* Fiber.join(other), "b is written")
  })
)
