/**
 * Starts the servers that a whole test run shares, a Postgres and a Redis, and stops them at its
 * end.
 */
import { type TestProject } from "vitest/node"
import { startPostgres } from "./Postgres.ts"
import { startRedis } from "./Redis.ts"

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const postgres = await startPostgres()
  const redis = await startRedis().catch(async (cause: unknown) => {
    await postgres.stop()
    throw cause
  })
  project.provide("postgresUrl", postgres.url)
  project.provide("redisUrl", redis.url)
  return async () => {
    await Promise.all([postgres.stop(), redis.stop()])
  }
}
