import { assert, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { withRoom } from "../../../src/http/edge/RoomyContext.ts"

const numbers = Array.from({ length: 12 }, (_, at) => Context.Reference(`test/${at}`, { defaultValue: () => -1 }))

/** All numbers, each provided inside of the one before, as a request provides its services. */
const provided = numbers.reduceRight<Effect.Effect<ReadonlyArray<number>>>(
  (inner, number, at) => Effect.provideService(inner, number, at),
  Effect.withFiber((fiber) => Effect.succeed(numbers.map((number) => fiber.getRef(number))))
)

/** Runs `self` in a context that counts how often its services are copied. */
const copiesOf = (self: Effect.Effect<ReadonlyArray<number>>) => {
  let copies = 0
  class Services extends Map<string, unknown> {
    override [Symbol.iterator]() {
      copies++
      return super[Symbol.iterator]()
    }
  }
  const services = new Services([["test/outer", "outer"]])
  return self.pipe(
    Effect.updateContext<never, never>(() => Context.makeUnsafe(services)),
    Effect.map((seen) => ({ seen, copies }))
  )
}

it.effect("a request adds its services to a roomy context without a copy of all", () =>
  Effect.gen(function* () {
    const roomy = yield* copiesOf(withRoom(provided))
    assert.deepStrictEqual(
      roomy.seen,
      numbers.map((_, at) => at)
    )
    assert.strictEqual(roomy.copies, 0)
    assert.isAbove((yield* copiesOf(provided)).copies, 0)
  })
)
