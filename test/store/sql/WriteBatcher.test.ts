/** Which writes form a group, and when a second group is written next to a slow one. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import { makeWriteBatcher } from "../../../src/store/sql/WriteBatcher.ts"
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
    limitMs: 600_000,
    outOfTime: () => new StoreError({ dependency: "database", cause: "late" }),
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

it.effect("a write that is not answered in time fails, is given up, and does not hold up the next", () =>
  Effect.gen(function* () {
    const begun = yield* Queue.unbounded<ReadonlyArray<string>>()
    const givenUp = yield* Deferred.make<void>()
    const { lagMs, write } = yield* makeWriteBatcher<string, string>({
      concurrency: 1,
      groupSize: 3,
      limitMs: 5_000,
      outOfTime: () => new StoreError({ dependency: "database", cause: "late" }),
      writeGroup: (entries) =>
        Effect.andThen(
          Queue.offer(begun, entries),
          entries[0] === "a"
            ? Effect.onInterrupt(Effect.never, () => Deferred.succeed(givenUp, undefined))
            : Effect.succeed(entries)
        )
    })
    const first = yield* Effect.forkChild(write("a", "a"), { startImmediately: true })
    assert.deepStrictEqual(yield* Queue.take(begun), ["a"])
    const withIt = yield* Effect.forkChild(write("b", "b"), { startImmediately: true })
    yield* TestClock.adjust("4 seconds")
    assert.strictEqual(yield* lagMs, 4_000)
    yield* TestClock.adjust("2 seconds")
    for (const failed of [first, withIt]) assert.strictEqual((yield* Effect.flip(Fiber.join(failed))).cause, "late")
    yield* Deferred.await(givenUp)
    assert.strictEqual(yield* write("c", "c"), "c")
    assert.strictEqual(yield* lagMs, 0)
  })
)

it.effect("a group that dies is written in halves, so that one entry does not affect the others", () =>
  Effect.gen(function* () {
    const groups: Array<ReadonlyArray<string>> = []
    const { write } = yield* makeWriteBatcher<string, string>({
      concurrency: 1,
      groupSize: 8,
      limitMs: 5_000,
      outOfTime: () => new StoreError({ dependency: "database", cause: "late" }),
      writeGroup: (entries) => {
        groups.push(entries)
        return entries.includes("bad") ? Effect.die(new Error("bad")) : Effect.succeed(entries)
      }
    })
    const exits = yield* Effect.forEach(["a", "bad", "b", "c"], (one) => Effect.exit(write(one, one)), {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true, true])
    assert.deepStrictEqual(groups, [["a", "bad", "b", "c"], ["a", "bad"], ["a"], ["bad"], ["b", "c"]])
  })
)
