/**
 * The circuits of two processes on one Redis: all learn of a refused credential, and one of them
 * tries it again.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schedule, Stream } from "effect"
import { inject } from "vitest"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import { type CircuitState } from "../../../src/gateway/health/CircuitState.ts"
import { CredentialsRefused, ProviderError, Rejected, ServerFault } from "../../../src/providers/Provider.ts"
import * as LockoutRedis from "../../../src/store/providerState/LockoutRedis.ts"
import { LockoutStore } from "../../../src/store/providerState/LockoutStore.ts"
import { RedisConnection } from "../../../src/store/redis/RedisConnection.ts"
import { candidateWith } from "../plans.ts"

const member = Effect.map(
  Layer.build(
    Layer.fresh(
      Circuits.layerRedis.pipe(
        Layer.provideMerge(LockoutRedis.layer),
        Layer.provide(RedisConnection.layer({ url: Redacted.make(inject("redisUrl")) }))
      )
    )
  ),
  (built) => ({ circuits: Context.get(built, Circuits), store: Context.get(built, LockoutStore) })
)
type Member = Effect.Success<typeof member>

/** A provider that no other test uses. */
const slug = (name: string) => `${name}-${process.pid}-${Date.now()}`
const until = ({ circuits }: Member, candidate: ReturnType<typeof candidateWith>, state: CircuitState["state"]) =>
  Effect.repeat(circuits.state(candidate), { until: (found) => found.state === state })

it.live("one refusal stops the calls of all and is published once; one answer ends the lockout for all", () =>
  Effect.gen(function* () {
    const provider = slug("alpha")
    const [small, large] = [candidateWith(provider), candidateWith(provider, { id: "test/large" })]
    const [first, second] = [yield* member, yield* member]
    const told = yield* Effect.forkChild(
      Stream.runHead(Stream.filter(second.circuits.refusals, (refusal) => refusal.provider === provider)),
      { startImmediately: true }
    )
    const refused = Effect.fail(new ProviderError({ provider, reason: new CredentialsRefused({ status: 401 }) }))
    yield* Effect.flip(first.circuits.guard(small)(refused))

    yield* until(second, large, "open")
    let calls = 0
    const call = Effect.sync(() => ++calls)
    assert.strictEqual((yield* Effect.flip(second.circuits.guard(large)(call)))._tag, "CircuitOpenError")
    assert.strictEqual(calls, 0)
    // A process that starts later knows at once.
    const late = yield* member
    assert.strictEqual((yield* late.circuits.state(small)).state, "open")
    assert.isUndefined(told.pollUnsafe())
    yield* Fiber.interrupt(told)

    // Half a minute later one of the concurrent calls is made.
    yield* first.store.close(provider, 1)
    const members = [first, second, late]
    for (const each of members) yield* until(each, small, "closed")
    const probes = yield* Effect.all(
      members.flatMap(({ circuits }) =>
        [small, large].map((candidate) =>
          Effect.result(circuits.guard(candidate)(Effect.andThen(call, Effect.sleep("100 millis"))))
        )
      ),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(calls, 1)
    assert.lengthOf(
      probes.filter(({ _tag }) => _tag === "Success"),
      1
    )
    for (const each of members) yield* until(each, large, "closed")
    for (const { circuits } of members) yield* circuits.guard(large)(call)
    assert.strictEqual(calls, 4)
  }).pipe(Effect.scoped)
)

const often = { schedule: Schedule.spaced("20 millis") }

/** Its circuit opens for three seconds, in which each process learns of it. */
const serverFault = (provider: string) =>
  Effect.fail(new ProviderError({ provider, reason: new ServerFault({ status: 500, retryAfterMs: 3_000 }) }))

it.live("one process opens a circuit, the others learn of it, and all forget it after a success", () =>
  Effect.gen(function* () {
    const candidate = candidateWith(slug("beta"))
    const [first, second] = [yield* member, yield* member]
    const isQuiet = ({ circuits }: Member) => circuits.beginQuiet(candidate, null)
    assert.isTrue(isQuiet(first) && isQuiet(second), "no failure: Redis is not asked")

    for (let count = 0; count < 5; count++) yield* Effect.flip(first.circuits.guard(candidate)(serverFault("beta")))
    assert.strictEqual((yield* first.circuits.stateHere(candidate)).state, "open")
    yield* Effect.repeat(second.circuits.stateHere(candidate), { ...often, until: ({ state }) => state === "open" })
    let calls = 0
    const call = Effect.sync(() => ++calls)
    assert.strictEqual((yield* Effect.flip(second.circuits.guard(candidate)(call)))._tag, "CircuitOpenError")
    assert.strictEqual(calls, 0)
    // A process that starts later knows at once.
    const late = yield* member
    assert.strictEqual((yield* late.circuits.stateHere(candidate)).state, "open")

    yield* Effect.retry(late.circuits.guard(candidate)(call), often.schedule)
    assert.isTrue(isQuiet(late))
    // The others ask until a call of their own has succeeded.
    for (const each of [first, second]) yield* each.circuits.guard(candidate)(call)
    for (const each of [first, second])
      yield* Effect.repeat(
        Effect.sync(() => isQuiet(each)),
        { ...often, until: (quiet) => quiet }
      )
  }).pipe(Effect.scoped)
)

it.live("a success in another process ends the row of failures, once that process has learned of them", () =>
  Effect.gen(function* () {
    const candidate = candidateWith(slug("gamma"))
    const [first, second] = [yield* member, yield* member]
    const fail = Effect.flip(first.circuits.guard(candidate)(serverFault("gamma")))
    for (let count = 0; count < 4; count++) yield* fail
    yield* Effect.repeat(
      Effect.sync(() => second.circuits.beginQuiet(candidate, null)),
      { ...often, until: (quiet) => !quiet }
    )
    yield* second.circuits.guard(candidate)(Effect.void)
    yield* fail
    assert.strictEqual((yield* first.circuits.state(candidate)).state, "closed")
  }).pipe(Effect.scoped)
)

it.live("a client's error is told to no other process", () =>
  Effect.gen(function* () {
    const candidate = candidateWith(slug("delta"))
    const { circuits, store } = yield* member
    const refused = Effect.fail(
      new ProviderError({
        provider: "delta",
        reason: new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
      })
    )
    yield* Effect.flip(circuits.guard(candidate)(refused))
    assert.isTrue(circuits.beginQuiet(candidate, null))
    assert.notInclude([...(yield* store.all).keys()].join(), candidate.provider.slug)
  }).pipe(Effect.scoped)
)
