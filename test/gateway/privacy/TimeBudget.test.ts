/**
 * A search runs in turns with other work, has a limit for all its turns together, and blocks the
 * event loop for one turn at most.
 */
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { makeInTurns, type Steps } from "../../../src/gateway/privacy/TimeBudget.ts"
import { mask } from "../../../src/gateway/privacy/Masking.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"
import { everything, maskAtOnce } from "./scanning.ts"

/** Every read of this clock is `tickNanos` later. */
const ticking = (tickNanos: bigint) =>
  Effect.map(Clock.Clock, (clock): Clock.Clock => {
    let nanos = 0n
    return Object.assign(Object.create(clock), { monotonicTimeNanosUnsafe: () => (nanos += tickNanos) })
  })
const A_MILLISECOND = 1_000_000n

const steps = function* (count: number, each: () => void): Steps<string> {
  for (let step = 0; step < count; step++) {
    each()
    yield
  }
  return "done"
}

it.effect("other work runs between the turns, and each of many searches gets its turn", () =>
  Effect.gen(function* () {
    const inTurns = yield* makeInTurns
    const heard: Array<string> = []
    const search = (name: string) => inTurns(() => steps(20, () => void heard.push(name)))
    const long = yield* Effect.forkChild(search("a"))
    const other = yield* Effect.forkChild(search("b"))
    const rounds = yield* Effect.forkChild(
      Effect.repeat(
        Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => void heard.push("."))
        ),
        { times: 40 }
      )
    )
    assert.deepStrictEqual([yield* Fiber.join(long), yield* Fiber.join(other)], ["done", "done"])
    yield* Fiber.interrupt(rounds)
    const told = heard.join("")
    // Each begins at once. Then one search has a turn, and other work runs before the next.
    assert.match(told, /^a{5}b{5}a{5}\.+b{5}\.+a{5}\.+b{5}\./)
    assert.notMatch(told.slice(10), /[ab]{6}/)
  }).pipe(Effect.provideServiceEffect(Clock.Clock, ticking(A_MILLISECOND)))
)

it.effect("its turns together end at the limit, and an unfinished search returns nothing", () =>
  Effect.gen(function* () {
    const inTurns = yield* makeInTurns
    assert.strictEqual(yield* inTurns(() => steps(500, () => {})), "done")
    assert.isNull(yield* inTurns(() => steps(1_000_000, () => {})))
  }).pipe(Effect.provideServiceEffect(Clock.Clock, ticking(A_MILLISECOND)))
)

it.effect("masking a long request in turns gives what masking at once gives", () =>
  Effect.gen(function* () {
    const inTurns = yield* makeInTurns
    const scan = yield* makeScanner([])
    const content = "Write to ann@x.com or 10.0.0.1, card 4111 1111 1111 1111. ".repeat(20)
    const request = { messages: Array.from({ length: 3 }, () => ({ role: "user", content, "bob@x.com": 1 })) }
    const inOne = maskAtOnce(scan, request)
    const masked = yield* inTurns((budget) => mask(request, scan, everything, budget))
    assert.deepStrictEqual(masked?.value, inOne?.value)
    assert.deepStrictEqual(masked?.findings, inOne?.findings)
    assert.notInclude(JSON.stringify(masked?.value), "@x.com")
  }).pipe(Effect.provideServiceEffect(Clock.Clock, ticking(A_MILLISECOND / 20n)))
)

it.effect("a search pauses regularly within any text", () =>
  Effect.gen(function* () {
    const scan = yield* makeScanner([{ name: "own", pattern: "[a-z]+@" }])
    const texts = [
      "1 ".repeat(200_000),
      "7".repeat(400_000),
      "a".repeat(400_000),
      "sk-ant-".repeat(50_000),
      "password=1a".repeat(40_000)
    ]
    for (const text of texts) {
      let pauses = 0
      const never = { look: () => "on", isOver: () => false, end: () => {} }
      const search = scan(text, new Set([...everything, "own"]), never as never)
      while (search.next().done !== true) pauses++
      // Each recogniser reads at most one window between two pauses.
      assert.isAbove(pauses, text.length / 16_384)
    }
  })
)
