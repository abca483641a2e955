import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { acquired, addFinalizer, withScope } from "../../../src/domain/runtime/OnClose.ts"

it.effect("finalizers run last in, first out, beside those of Scope, and see how the scope closed", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const ran = Array.of<string>()
    const note = (name: string) => (exit: Exit.Exit<unknown, unknown>) => {
      ran.push(`${name} ${exit._tag}`)
      return Effect.void
    }
    assert.isTrue(Exit.isExit(addFinalizer(scope, note("first"))))
    yield* Scope.addFinalizerExit(scope, note("second"))
    yield* addFinalizer(scope, note("third"))
    yield* Scope.provide(
      withScope((own) => addFinalizer(own, note("fourth"))),
      scope
    )
    assert.deepStrictEqual(ran, [])
    yield* Scope.close(scope, Exit.fail("no"))
    assert.deepStrictEqual(ran, ["fourth Failure", "third Failure", "second Failure", "first Failure"])
  })
)

it.effect("a finalizer of a closed scope is the effect that the caller runs", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Scope.close(scope, Exit.void)
    const ran = Array.of<string>()
    yield* addFinalizer(scope, () => Effect.sync(() => void ran.push("at once")))
    const added = withScope((own) => addFinalizer(own, () => Effect.sync(() => void ran.push("too"))))
    yield* Scope.provide(added, scope)
    assert.deepStrictEqual(ran, ["at once", "too"])
  })
)

it.effect("a finalizer that throws is a defect of the close, and the others run", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    let others = 0
    const other = () => Effect.sync(() => void others++)
    yield* addFinalizer(scope, other)
    yield* addFinalizer(scope, () => {
      throw new Error("broken")
    })
    yield* addFinalizer(scope, other)
    const exit = yield* Effect.exit(Scope.close(scope, Exit.void))
    assert.strictEqual(exit._tag, "Failure")
    assert.strictEqual(others, 2)
  })
)

it.effect("finalizers that wait or fail run in their order too, and each failure is told", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const ran = Array.of<string>()
    const waits = (name: string) => () => Effect.map(Effect.yieldNow, () => void ran.push(name))
    const fails = (name: string) => () => Effect.suspend(() => Effect.die(ran.push(name) && name))
    for (const finalizer of [waits("first"), fails("second"), waits("third"), () => Exit.die("fourth"), waits("fifth")])
      yield* addFinalizer(scope, finalizer)
    const exit = yield* Effect.exit(Scope.close(scope, Exit.void))
    assert.deepStrictEqual(ran, ["fifth", "third", "second", "first"])
    assert.deepStrictEqual(
      exit._tag === "Failure" ? exit.cause.reasons.map((reason) => reason._tag === "Die" && reason.defect) : [],
      ["fourth", "second"]
    )
  })
)

it.effect("what was acquired is released, also when the caller is interrupted meanwhile", () =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    const goOn = yield* Deferred.make<void>()
    const ran = Array.of<string>()
    const acquire = Effect.gen(function* () {
      yield* Deferred.succeed(started, undefined)
      yield* Deferred.await(goOn)
      ran.push("acquired")
      return "value"
    })
    const use = acquired(acquire, (value) => Effect.sync(() => void ran.push(`released ${value}`)))
    const fiber = yield* Effect.forkChild(Effect.scoped(use))
    yield* Deferred.await(started)
    const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* Deferred.succeed(goOn, undefined)
    yield* Fiber.join(interrupting)
    assert.deepStrictEqual(ran, ["acquired", "released value"])
  })
)
