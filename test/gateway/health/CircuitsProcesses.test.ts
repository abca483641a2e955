/**
 * The circuits of two processes on one Redis: all learn of a refused credential, and one of them
 * tries it again.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { inject } from "vitest"
import { Circuits } from "../../../src/gateway/health/Circuits.ts"
import { type CircuitState } from "../../../src/gateway/health/CircuitState.ts"
import { CredentialsRefused, ProviderError, ServerFault } from "../../../src/providers/Provider.ts"
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

it.live("a circuit without failures in this process counts as closed, without a read of Redis", () =>
  Effect.gen(function* () {
    const candidate = candidateWith(slug("beta"))
    const { circuits } = yield* member
    const failed = Effect.fail(
      new ProviderError({ provider: "beta", reason: new ServerFault({ status: 500, retryAfterMs: null }) })
    )
    yield* circuits.guard(candidate)(Effect.void)
    for (let count = 0; count < 5; count++) yield* Effect.flip(circuits.guard(candidate)(failed))
    assert.strictEqual((yield* circuits.stateHere(candidate)).state, "open")
    const other = yield* member
    assert.strictEqual((yield* other.circuits.state(candidate)).state, "open")
    assert.strictEqual((yield* other.circuits.stateHere(candidate)).state, "closed")
    yield* Effect.flip(other.circuits.guard(candidate)(Effect.void))
    assert.strictEqual((yield* other.circuits.stateHere(candidate)).state, "open", "once it has met it")
  })
)
