/**
 * The gateway under measurement, configured as in production: its own Postgres that syncs every
 * commit to disk by default, all policies on, and a key whose limits and budget are checked but
 * never reached.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startPostgres } from "../../test/support/Postgres.ts"
import { type Closers } from "./closers.ts"
import { garbageProbe } from "./garbage.ts"
import { chatBody } from "./messages.ts"
import { answers, directory, freePort, type Server, start, type Target } from "./servers.ts"

/** The admin key of all gateways in the benchmark. They run on 127.0.0.1 for one measurement. */
export const adminKey = "bench-admin-key-of-this-run-only"

/** The path for chat requests at the gateway and the proxy. */
export const path = "/v1/chat/completions"

/** The context length fits the longest prompts of the benchmark. */
export const settingsFile = (upstream: Server, streaming: Server, caches = true) => {
  const provider = (slug: string, server: Server) => `
  - slug: ${slug}
    name: ${slug}
    dialect: openai
    base_url: ${server.url}/v1
    api_key: bench
    models:
      - id: ${slug}/model
        upstream: model
        context_length: 4000000
        max_completion_tokens: 4096
        pricing: { prompt: 0.15, completion: 0.60 }`
  return `providers:${provider("bench", upstream)}${provider("stream", streaming)}
tiers:
  enterprise: { requests_per_minute: 100000000, tokens_per_minute: 1000000000, concurrency: 100000 }
cache: { when: ${caches ? "always" : "never"}, ttl_seconds: 3600, scope: key, max_entries: 10000 }
`
}

/**
 * `off`: nothing is reserved, limited or recorded. Otherwise all policies are on, with the embedded
 * database or a new Postgres.
 */
export type Durability = "off" | "embedded" | "postgres"

export interface GatewayOptions {
  readonly durability?: Durability
  /** The key's monthly budget in USD; null: no cap. */
  readonly budgetUsd?: number | null
  /** True if Postgres waits for the disk before confirming a write, as in production. */
  readonly waitsForDisk?: boolean
  /** False: no prompt cache. */
  readonly caches?: boolean
  /** Added to the settings file. */
  readonly settings?: string
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Node flags. Default: those of production. */
  readonly nodeFlags?: ReadonlyArray<string>
}

/** A Postgres that survives a power failure, unless it does not wait for the disk. */
export const durablePostgres = async (closers: Closers, waitsForDisk = true): Promise<string> => {
  const commit = `synchronous_commit=${waitsForDisk ? "on" : "off"}`
  const postgres = await startPostgres(["fsync=on", commit, "full_page_writes=on"])
  closers.add(() => postgres.stop())
  return postgres.url
}

/** The Node flags of scripts/start and of the container's image. */
export const servedFlags = readFileSync(join(import.meta.dirname, "../node-flags"), "utf8")
  .trim()
  .split("\n")

/** The environment of every gateway in the benchmark. */
export const gatewayEnvironment = (port: number, config: string, dataDir: string): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  NODE_ENV: "production",
  MALLOC_ARENA_MAX: "2",
  TOLLGATE_PORT: String(port),
  TOLLGATE_ADMIN_KEY: adminKey,
  TOLLGATE_CONFIG: config,
  TOLLGATE_DATA_DIR: dataDir,
  TOLLGATE_LOG_LEVEL: "warn"
})

export const startGateway = async (
  closers: Closers,
  upstream: Server,
  streaming: Server,
  {
    budgetUsd = 1_000_000,
    caches = true,
    durability = "postgres",
    env: more = {},
    nodeFlags = servedFlags,
    settings = "",
    waitsForDisk = true
  }: GatewayOptions = {}
): Promise<Server> => {
  const place = directory(closers)
  const config = join(place, "tollgate.yaml")
  writeFileSync(config, settingsFile(upstream, streaming, caches) + settings)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const probe = garbageProbe(closers)
  const own = gatewayEnvironment(port, config, join(place, "data"))
  const env: NodeJS.ProcessEnv = { ...own, ...probe.env, ...more }
  if (durability === "postgres") env["DATABASE_URL"] = await durablePostgres(closers, waitsForDisk)
  const main = join(import.meta.dirname, durability === "off" ? "ungoverned.ts" : "../../src/main.ts")
  const ready = answers(`${url}/health/ready`, (status) => status === 200)
  const pid = await start(closers, process.execPath, [...nodeFlags, main], env, ready)
  const response = await fetch(`${url}/v1/keys`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-admin-key": adminKey },
    body: JSON.stringify({ name: "bench", tier: "enterprise", monthly_budget_usd: budgetUsd })
  })
  const record = (await response.json()) as { readonly key?: string }
  if (record.key === undefined) throw new Error(`no key from the gateway: ${response.status} ${JSON.stringify(record)}`)
  return { name: "tollgate", url, pid, headers: { authorization: `Bearer ${record.key}` }, garbage: probe.file }
}

/** Checks that the cache hits and misses as the phase claims. */
export const checkCache = async ({ path, server }: Target): Promise<void> => {
  const ask = async (prompt: string) => {
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...server.headers },
      body: chatBody("bench/model", prompt, false)
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the gateway answers ${response.status}: ${text}`)
    return response.headers.get("x-tollgate-cache")
  }
  const seen = [await ask("first"), await ask("first"), await ask("second")]
  if (seen.join() !== "miss,hit,miss") throw new Error(`the cache answers ${seen.join()} where miss,hit,miss was due`)
}
