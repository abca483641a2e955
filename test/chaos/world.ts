/**
 * The common setup of the chaos scenarios: a durable Postgres, a Redis, a provider that counts its
 * output, and gateways with one configuration. Everything ends with the scope.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { Sql } from "../../src/store/sql/Sql.ts"
import { type Gateway, startGateway } from "../support/Gateway.ts"
import { spawnPostgres } from "../support/Postgres.ts"
import { spawnRedis } from "../support/Redis.ts"
import { emptyNotes, type TestKey } from "./clients.ts"
import { startProvider } from "./provider.ts"

export const NANO = 1_000_000_000

export interface WorldOptions {
  readonly leaseSeconds: number
  /** `tiers` of the settings. By default only concurrency and money are limited. */
  readonly tiers?: unknown
  /**
   * Whether the provider reports the number of the call as the length of its prompt. Prompts are
   * then free.
   */
  readonly namesCalls?: boolean
}

export type World = Effect.Success<ReturnType<typeof openWorld>>

/** Concurrent requests of a key of the tier `pro`. */
export const CONCURRENCY = 4

const wide = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000 }
const wideTiers = {
  free: wide,
  pro: { ...wide, concurrency: CONCURRENCY },
  enterprise: { ...wide, concurrency: 10_000 }
}

const model = (id: string, upstream: string, prompt: number) => ({
  id,
  upstream,
  max_completion_tokens: 1_000,
  pricing: { prompt, completion: 2 }
})

export const openWorld = Effect.fnUntraced(function* (options: WorldOptions) {
  const { leaseSeconds, namesCalls = true, tiers = wideTiers } = options
  const database = yield* Effect.acquireRelease(
    Effect.promise(() => spawnPostgres(["fsync=on", "synchronous_commit=on"])),
    (server) => Effect.promise(() => server.stop())
  )
  const redis = yield* Effect.acquireRelease(
    Effect.promise(() => spawnRedis()),
    (server) => Effect.promise(() => server.stop())
  )
  const provider = yield* Effect.acquireRelease(
    Effect.promise(() => startProvider({ namesCalls })),
    (server) => Effect.promise(() => server.stop())
  )
  const config = {
    ledger: { lease_seconds: leaseSeconds },
    providers: [
      { slug: "mock", dialect: "mock", models: [model("mock/lorem", "lorem", 1)] },
      {
        slug: "watching",
        dialect: "openai",
        base_url: provider.url,
        models: [model("w/slow", "slow", namesCalls ? 0 : 1)]
      }
    ],
    tiers
  }
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, TOLLGATE_LOG_LEVEL: "info" }
  const sql = Context.get(
    yield* Layer.build(Sql.layerPostgres({ url: Redacted.make(database.url) })),
    PgClient.PgClient
  )
  const notes = emptyNotes()
  const keys: Array<TestKey> = []
  return {
    namesCalls,
    database,
    redis,
    provider,
    sql,
    notes,
    keys,
    start: (more: Readonly<Record<string, string>> = {}) => startGateway({ env: { ...env, ...more }, config }),
    /** Issues a key that is checked and audited with the others. */
    issue: Effect.fnUntraced(function* (
      gateway: Gateway,
      given: Partial<Omit<TestKey, "id" | "key">> & { readonly tier?: string } = {}
    ) {
      const {
        capUsd = null,
        mayLeave = true,
        model = "w/slow",
        requestsPerMinute = 1_000_000,
        tier = "enterprise"
      } = given
      const issued = yield* gateway.issueKey({ tier, monthly_budget_usd: capUsd })
      const key: TestKey = { ...issued, capUsd, mayLeave, model, requestsPerMinute }
      keys.push(key)
      return key
    })
  }
})
