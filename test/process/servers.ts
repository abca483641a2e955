/** Servers that a process test can stop and restart. Each ends with the scope. */
import { Effect, Redacted, Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { inject } from "vitest"
import { proxyTo } from "../store/sql/databaseProxy.ts"
import { freshDatabase, spawnPostgres } from "../support/Postgres.ts"
import { type RedisServer, spawnRedis } from "../support/Redis.ts"
import { chatBody } from "../support/upstream/Bodies.ts"
import { startUpstream } from "../support/upstream/Upstream.ts"

export interface Removable {
  readonly url: string
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
}

/**
 * A Postgres that can be stopped and restarted with its data. If the tests run on an external
 * server, a relay to it is cut instead.
 */
export const removablePostgres = Effect.gen(function* () {
  if ((process.env["TOLLGATE_TEST_DATABASE_URL"] ?? "") !== "") {
    const { down, up, url } = yield* proxyTo(new URL(inject("postgresUrl")))
    return { url: url.href, down, up } satisfies Removable
  }
  const { down, up, url } = yield* Effect.acquireRelease(
    Effect.promise(() => spawnPostgres()),
    (server) => Effect.promise(() => server.stop())
  )
  return { url, down: Effect.promise(down), up: Effect.promise(up) } satisfies Removable
})

/** A Redis that is killed and restarted, empty, on the same port. */
export const removableRedis = Effect.gen(function* () {
  const scope = yield* Effect.scope
  let running: RedisServer | undefined
  const start = (options?: { readonly port: number }) =>
    Effect.acquireRelease(
      Effect.promise(() => spawnRedis(options)),
      (server) => Effect.promise(() => server.stop())
    ).pipe(
      Effect.tap((server) => Effect.sync(() => void (running = server))),
      Scope.provide(scope)
    )
  const { port, url } = yield* start()
  return {
    url,
    down: Effect.promise(async () => running?.stop()),
    up: Effect.asVoid(start({ port }))
  } satisfies Removable
})

/**
 * A model provider that is down. Its port is reserved; once `up`, it answers every chat with `Hello
 * there!`.
 */
export const absentProvider = Effect.gen(function* () {
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(chatBody()))
  })
  const listen = async (port: number): Promise<number> => {
    server.listen(port, "127.0.0.1")
    await once(server, "listening")
    return (server.address() as AddressInfo).port
  }
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, "close")
  }
  const port = yield* Effect.acquireRelease(
    Effect.promise(() => listen(0)),
    () => Effect.promise(close)
  )
  yield* Effect.promise(close)
  return {
    url: `http://127.0.0.1:${port}/v1`,
    down: Effect.promise(close),
    up: Effect.promise(async () => void (await listen(port)))
  } satisfies Removable
})

/** The scripted upstream, for the time of the scope. */
export const upstream = Effect.acquireRelease(
  Effect.promise(() => startUpstream()),
  (upstream) => Effect.promise(() => upstream.stop())
)

/** The environment for a new database on the run's Postgres. */
export const postgresEnv = Effect.map(freshDatabase, (url) => ({ DATABASE_URL: Redacted.value(url) }))

/** A settings file with one OpenAI-compatible provider that has one model, `test/small`. */
export const configFor = (baseUrl: string, more: Readonly<Record<string, unknown>> = {}) => ({
  providers: [
    {
      slug: "alpha",
      dialect: "openai",
      base_url: baseUrl,
      api_key: "${ALPHA_KEY}",
      models: [
        {
          id: "test/small",
          upstream: "small-2026",
          max_completion_tokens: 1_000,
          pricing: { prompt: 2, completion: 8 }
        }
      ]
    }
  ],
  ...more
})

/** The variables that `configFor` refers to. */
export const providerEnv = { ALPHA_KEY: "sk-key-of-the-provider-9876543210" }
