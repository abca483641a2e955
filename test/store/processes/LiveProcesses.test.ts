/** The suite of LiveProcesses on every layer, and the registration of a process. */
import * as LiveProcessesMemory from "../../../src/store/processes/LiveProcessesMemory.ts"
import * as LiveProcessesSql from "../../../src/store/processes/LiveProcessesSql.ts"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { hostname } from "node:os"
import { LiveProcesses } from "../../../src/store/processes/LiveProcesses.ts"
import * as Presence from "../../../src/store/processes/Presence.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { liveProcessesSuite } from "./liveProcessesSuite.ts"

const agedRows = (ms: number) =>
  SqlClient.SqlClient.use(
    (sql) => sql`UPDATE live_processes SET heartbeat_at_ms = heartbeat_at_ms - ${ms}::bigint`
  ).pipe(Effect.asVoid)

layer(LiveProcessesMemory.layer)("in memory", liveProcessesSuite(TestClock.adjust))
layer(Layer.provideMerge(LiveProcessesSql.layer, layerPostgres), { timeout: "60 seconds" })(
  "in Postgres",
  liveProcessesSuite(agedRows)
)

/** Starts a process that shares no limits. It lives as long as the scope. */
const started = (scope: Scope.Scope) =>
  Layer.buildWithScope(Layer.fresh(Presence.layer({ sharesLimits: false })), scope)
const stranger = { id: "stranger", host: "elsewhere", pid: 4_711, sharesLimits: false }

layer(Layer.fresh(LiveProcessesMemory.layer))("a process that shares no limits", (it) => {
  it.effect("lives until its scope closes", () =>
    Effect.gen(function* () {
      const { enter, leave } = yield* LiveProcesses
      const scope = yield* Scope.make()
      yield* started(scope)
      yield* TestClock.adjust("10 minutes")
      assert.deepInclude(Option.getOrThrow(yield* enter(stranger)), { host: hostname(), pid: process.pid })
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* enter(stranger), Option.none())
      yield* leave(stranger.id)
    })
  )

  it.effect("waits for a dead process, and starts when that has expired", () =>
    Effect.gen(function* () {
      const { enter } = yield* LiveProcesses
      yield* enter(stranger)
      const scope = yield* Scope.make()
      const start = yield* Effect.forkChild(started(scope), { startImmediately: true })
      yield* TestClock.adjust("14 seconds")
      assert.isUndefined(start.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(start)
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.effect("gives up after 15 s next to a live process, says which it is and what to do, and leaves it alone", () =>
    Effect.gen(function* () {
      const { enter, leave, renew } = yield* LiveProcesses
      yield* enter(stranger)
      const scope = yield* Scope.make()
      const start = yield* Effect.forkChild(Effect.flip(started(scope)), { startImmediately: true })
      for (let second = 0; second < 15; second++) {
        assert.isUndefined(start.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* renew(stranger)
      }
      const { message } = yield* Fiber.join(start)
      for (const part of [
        "process 4711 on elsewhere",
        "since 1970-01-01T00:",
        "set REDIS_URL",
        "or stop the other one"
      ]) {
        assert.include(message, part)
      }
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Option.isSome(yield* enter({ ...stranger, id: "third" })))
      yield* leave(stranger.id)
    })
  )
})
