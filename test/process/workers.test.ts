/**
 * Several processes on one port: they share limits, each is replaced when it dies, and one signal
 * stops all.
 */
import { assert, it, vi } from "@effect/vitest"
import { Effect, Result } from "effect"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { eventually, type Gateway, launchGateway, promptMarker, startGateway } from "../support/Gateway.ts"
import { configFor, postgresEnv, providerEnv } from "./servers.ts"

/** Starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const WORKERS = 2
const START_LIMIT_MS = 60_000
/** Five seconds on an idle machine. The bound belongs to the key cache and is tested with it. */
const KNOWN_LIMIT_MS = 20_000

const workersEnv = Effect.map(postgresEnv, (env) => ({
  ...env,
  REDIS_URL: inject("redisUrl"),
  TOLLGATE_WORKERS: String(WORKERS)
}))

/** The process ids of a process's children. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const parent = Result.try(() => /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1])
      return Result.isSuccess(parent) && parent.success === String(pid) ? [Number(name)] : []
    })

const readyCount = (gateway: Gateway): number => gateway.output().split(`"message":"ready"`).length - 1

const untilReady = (gateway: Gateway, count: number) =>
  eventually(
    Effect.filterOrFail(
      Effect.sync(() => readyCount(gateway)),
      (ready) => ready >= count
    ),
    START_LIMIT_MS,
    `${count} workers ready`
  )

const chat = (gateway: Gateway, key: string, model = "mock/echo") =>
  gateway.send("/v1/chat/completions", {
    key,
    body: { model, messages: [{ role: "user", content: promptMarker }] }
  })

it.live("one limit for all of them; a worker that dies is replaced; SIGTERM ends them all", () =>
  Effect.gen(function* () {
    const gateway = yield* startGateway({ env: yield* workersEnv })
    yield* untilReady(gateway, WORKERS)
    const workers = childrenOf(gateway.pid)
    assert.strictEqual(workers.length, WORKERS)

    const { key } = yield* gateway.issueKey({ tier: "free" })
    const answers = yield* Effect.forEach(
      Array.from({ length: 30 }),
      () =>
        chat(gateway, key).pipe(
          // At most four concurrent requests are allowed: rejected ones are repeated.
          Effect.repeat({
            until: ({ headers, status }) => status !== 429 || headers["x-ratelimit-remaining-requests"] === "0"
          })
        ),
      { concurrency: 4 }
    )
    // 20 a minute, and one more for each three seconds of the test.
    const granted = answers.filter(({ status }) => status === 200).length
    assert.isAtLeast(granted, 20)
    assert.isAtMost(granted, 24)

    const { key: unlimited } = yield* gateway.issueKey()
    process.kill(workers[0] ?? 0, "SIGKILL")
    yield* untilReady(gateway, WORKERS + 1)
    const now = childrenOf(gateway.pid)
    assert.strictEqual(now.length, WORKERS)
    assert.notInclude(now, workers[0])
    for (let request = 0; request < 6; request++) assert.strictEqual((yield* chat(gateway, unlimited)).status, 200)

    assert.deepStrictEqual(yield* gateway.stop, { code: 0, signal: null })
    assert.deepStrictEqual(
      now.filter((pid) => Result.isSuccess(Result.try(() => process.kill(pid, 0)))),
      []
    )
  })
)

it.live("a revoked key and new settings are known to every worker soon", () =>
  Effect.gen(function* () {
    const config = configFor("http://127.0.0.1:9/v1")
    const gateway = yield* startGateway({ env: { ...(yield* workersEnv), ...providerEnv }, config })
    yield* untilReady(gateway, WORKERS)
    const { id, key } = yield* gateway.issueKey()
    const modelsOf = (as: string) =>
      Effect.map(gateway.send("/v1/models", { key: as }), ({ status, text }) => ({
        status,
        ids:
          status === 200 ? (JSON.parse(text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id) : []
      }))
    // Connections rotate among workers: this many in a row reach each of them.
    const everywhere = <A>(ask: Effect.Effect<A, unknown>, holds: (answer: A) => boolean) =>
      eventually(
        Effect.filterOrFail(Effect.replicateEffect(ask, 3 * WORKERS), (answers) => answers.every(holds)),
        KNOWN_LIMIT_MS,
        "every worker knows"
      )
    yield* everywhere(modelsOf(key), ({ ids }) => ids.includes("test/small"))

    const [provider] = config.providers
    const renamed = { providers: [{ ...provider, models: [{ ...provider?.models[0], id: "test/renamed" }] }] }
    writeFileSync(join(gateway.directory, "tollgate.yaml"), JSON.stringify(renamed))
    yield* gateway.signal("SIGHUP")
    yield* everywhere(modelsOf(key), ({ ids }) => ids.includes("test/renamed"))

    yield* gateway.send(`/v1/keys/${id}`, { method: "DELETE", headers: { "x-admin-key": gateway.adminKey } })
    yield* everywhere(modelsOf(key), ({ status }) => status === 401)
  })
)

it.live("more than one process without a shared database and Redis is refused, with what to set", () =>
  Effect.gen(function* () {
    const started = yield* launchGateway({ env: { TOLLGATE_WORKERS: "2" } })
    assert.strictEqual((yield* started.ended).code, 1)
    assert.match(started.stderr(), /DATABASE_URL.*REDIS_URL.*/s)
  })
)
