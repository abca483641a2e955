/** Outages of dependencies: the gateway reports them, fails closed, and recovers by itself. */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"
import {
  type Disconnected,
  eventually,
  type Gateway,
  launchGateway,
  promptMarker,
  startGateway
} from "../support/Gateway.ts"
import { type Answered } from "../support/GatewayHttp.ts"
import { absentProvider, configFor, postgresEnv, providerEnv, removablePostgres, removableRedis } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const RECOVERY_MS = 5_000
/** Includes the pauses of a circuit. */
const PROVIDER_RECOVERY_MS = 20_000

interface ErrorEnvelope {
  readonly error: {
    readonly type: string
    readonly code: string
    readonly retryable: boolean
    readonly details: Readonly<Record<string, unknown>>
  }
}

const chat = (gateway: Gateway, key: string) =>
  gateway.send("/v1/chat/completions", {
    key,
    body: { model: "mock/echo", messages: [{ role: "user", content: promptMarker }] }
  })

const untilServed = (request: Effect.Effect<Answered, Disconnected>, limitMs = RECOVERY_MS) =>
  eventually(
    Effect.filterOrFail(
      request,
      ({ status }) => status === 200,
      (answered) => answered
    ),
    limitMs,
    "recovery"
  )

/** Repeats the request until it fails, and returns the failure. */
const untilRefused = (request: Effect.Effect<Answered, Disconnected>) =>
  eventually(
    Effect.filterOrFail(request, ({ status }) => status !== 200),
    RECOVERY_MS,
    "a refusal"
  )

/** Fails closed: a quick 503 that names the missing dependency, without its address. */
const assertUnavailable = (answered: Answered, dependency: string, tookMs: number): void => {
  const { error } = JSON.parse(answered.text) as ErrorEnvelope
  assert.deepStrictEqual([answered.status, error.type, error.retryable], [503, "dependency_unavailable", true])
  assert.deepStrictEqual([error.code, error.details], [`${dependency}_unavailable`, { dependency }])
  assert.match(String(answered.headers["retry-after"]), /^\d+$/)
  assert.notMatch(answered.text, /\bat .*:\d+:\d+|ECONN|127\.0\.0\.1|postgres|redis/i)
  assert.isBelow(tookMs, 6_000)
}

const timed = <E>(request: Effect.Effect<Answered, E>) =>
  Effect.gen(function* () {
    const startMs = performance.now()
    const answered = yield* request
    return { answered, tookMs: performance.now() - startMs }
  })

const health = (gateway: Gateway) =>
  Effect.map(gateway.send("/health"), ({ status, text }) => {
    const { dependencies, status: word } = JSON.parse(text) as {
      readonly status: string
      readonly dependencies: Readonly<Record<string, { readonly status: string }>>
    }
    const down = Object.keys(dependencies).filter((name) => dependencies[name]?.status !== "ok")
    return { status, word, down }
  })

it.live("the database: 503 that says so, for known and unknown keys alike, and back without a restart", () =>
  Effect.gen(function* () {
    const database = yield* removablePostgres
    const gateway = yield* startGateway({ env: { DATABASE_URL: database.url, REDIS_URL: inject("redisUrl") } })
    const { key } = yield* gateway.issueKey()
    const first = yield* chat(gateway, key)
    assert.strictEqual(first.status, 200)

    yield* database.down
    assert.deepStrictEqual(yield* health(gateway), { status: 503, word: "unavailable", down: ["database"] })
    assert.strictEqual((yield* gateway.send("/health/ready")).status, 503)
    assert.strictEqual((yield* gateway.send("/health/live")).status, 200)
    const requests = [
      chat(gateway, key),
      chat(gateway, "tg-0123456789abcdef-0123456789abcdef0123456789abcdef0123456789a"),
      gateway.send(`/v1/generations/${String(first.headers["x-generation-id"])}`, { key }),
      gateway.send("/v1/keys", { headers: { "x-admin-key": gateway.adminKey } })
    ]
    for (const { answered, tookMs } of yield* Effect.forEach(requests, timed, { concurrency: "unbounded" })) {
      assertUnavailable(answered, "database", tookMs)
    }

    yield* database.up
    yield* untilServed(chat(gateway, key))
    yield* untilServed(gateway.send("/health"))
  })
)

it.live("a database that starts later than the gateway is waited for", () =>
  Effect.gen(function* () {
    const database = yield* removablePostgres
    yield* database.down
    const starting = yield* launchGateway({ env: { DATABASE_URL: database.url } })
    yield* starting.printed("the database does not answer (")
    yield* database.up
    const gateway = yield* starting.ready
    const { key } = yield* gateway.issueKey()
    assert.strictEqual((yield* chat(gateway, key)).status, 200)
  })
)

it.live("the limit store: 503 for everything that is limited, and back without a restart", () =>
  Effect.gen(function* () {
    const redis = yield* removableRedis
    const gateway = yield* startGateway({ env: { ...(yield* postgresEnv), REDIS_URL: redis.url } })
    const { key } = yield* gateway.issueKey()
    assert.strictEqual((yield* chat(gateway, key)).status, 200)

    yield* redis.down
    const { answered, tookMs } = yield* timed(untilRefused(chat(gateway, key)))
    assertUnavailable(answered, "limit_store", tookMs)
    const embedding = gateway.send("/v1/embeddings", { key, body: { model: "mock/embed", input: promptMarker } })
    const second = yield* timed(embedding)
    assertUnavailable(second.answered, "limit_store", second.tookMs)
    const seen = yield* health(gateway)
    assert.deepStrictEqual([seen.status, seen.word], [503, "unavailable"])
    assert.sameMembers(seen.down, ["limit_store", "cache"])
    // Requests without limits still work.
    assert.strictEqual((yield* gateway.send("/v1/models", { key })).status, 200)

    yield* redis.up
    yield* untilServed(chat(gateway, key))
    yield* untilServed(gateway.send("/health"))
  })
)

it.live("the only provider: absent at the start, told as such, and used once it is there", () =>
  Effect.gen(function* () {
    const provider = yield* absentProvider
    const gateway = yield* startGateway({
      env: { ...providerEnv, ...(yield* postgresEnv) },
      config: configFor(provider.url, { routing: { retries: 0 }, cache: { enabled: false } })
    })
    const { key } = yield* gateway.issueKey()
    const ask = gateway.send("/v1/chat/completions", {
      key,
      body: { model: "test/small", messages: [{ role: "user", content: promptMarker }] }
    })
    const { text, status } = yield* ask
    const { error } = JSON.parse(text) as ErrorEnvelope
    assert.deepStrictEqual([status, error.type, error.retryable], [502, "provider_error", true])
    assert.notInclude(text, "127.0.0.1")
    // The gateway itself is ready.
    assert.strictEqual((yield* gateway.send("/health/ready")).status, 200)
    yield* provider.up
    const answered = yield* untilServed(ask, PROVIDER_RECOVERY_MS)
    assert.include(answered.text, "Hello there!")

    // Repeats until the circuit is open. Then the provider is not called until a pause is over, and
    // recovers nevertheless.
    yield* provider.down
    const unavailable = yield* eventually(
      Effect.filterOrFail(ask, ({ status }) => status === 503),
      PROVIDER_RECOVERY_MS,
      "an open circuit"
    )
    assert.match(String(unavailable.headers["retry-after"]), /^\d+$/)
    assert.strictEqual((yield* health(gateway)).word, "degraded")
    yield* provider.up
    yield* untilServed(ask, PROVIDER_RECOVERY_MS)
  })
)
