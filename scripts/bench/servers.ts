/**
 * The processes under measurement, each on a free port of 127.0.0.1 and stopped at the end: nginx with one canned completion, the
 * upstream that streams, the bare proxy, and the gateway, on a Postgres of its own that syncs every commit to disk unless told otherwise. What a
 * process says before it is ready is shown when it never gets there.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { startPostgres } from "../../test/support/Postgres.ts"
import { completion } from "./messages.ts"

export interface Server {
  readonly name: string
  readonly url: string
  /** The process to measure. */
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
}

/** What has to be closed at the end, the last first. */
export class Closers {
  readonly #closers: Array<() => unknown> = []

  add(close: () => unknown): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close()
  }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

const directory = (closers: Closers): string => {
  const path = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  closers.add(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Starts a process and waits until `ready` answers true. */
const start = async (
  closers: Closers,
  command: string,
  args: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv,
  ready: () => Promise<boolean>
): Promise<number> => {
  const child: ChildProcess = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] })
  let said = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4_000)))
  }
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  closers.add(async () => {
    child.kill("SIGTERM")
    await Promise.race([gone, pause(5_000, undefined, { ref: false })])
    child.kill("SIGKILL")
  })
  const until = performance.now() + 30_000
  while (!(await ready().catch(() => false))) {
    if (child.exitCode !== null || performance.now() > until) {
      throw new Error(`${command} ${args.join(" ")} did not get ready:\n${said}`)
    }
    await pause(50)
  }
  return child.pid ?? 0
}

const answers = (url: string, accepted: (status: number) => boolean) => async () =>
  accepted((await fetch(url, { signal: AbortSignal.timeout(2_000) })).status)

/** nginx, which answers the canned completion to whatever it is asked. */
export const startNginx = async (closers: Closers): Promise<Server> => {
  const path = directory(closers)
  const port = await freePort()
  const config = join(path, "nginx.conf")
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  writeFileSync(
    config,
    `daemon off; master_process off; worker_processes 1; pid ${path}/pid; error_log ${path}/error.log;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 300s; default_type application/json;
  ${places.map((place) => `${place}_temp_path ${path}/${place};`).join(" ")}
  server { listen 127.0.0.1:${port} backlog=1024; location / { return 200 '${completion}'; } }
}
`
  )
  const url = `http://127.0.0.1:${port}`
  const args = ["-e", `${path}/error.log`, "-c", config]
  const pid = await start(
    closers,
    "nginx",
    args,
    process.env,
    answers(url, (status) => status === 200)
  )
  return { name: "upstream", url, pid, headers: {} }
}

/** One of the Node programs beside this file. It takes its port and further arguments. */
export const startProgram = async (
  closers: Closers,
  name: string,
  program: string,
  args: ReadonlyArray<string> = []
): Promise<Server> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = join(import.meta.dirname, program)
  const ready = answers(`${url}/ready`, (status) => status < 500)
  const pid = await start(closers, process.execPath, [file, String(port), ...args], process.env, ready)
  return { name, url, pid, headers: {} }
}

const settingsFile = (upstream: Server, streaming: Server) => {
  const provider = (slug: string, server: Server) => `
  - slug: ${slug}
    name: ${slug}
    dialect: openai
    base_url: ${server.url}/v1
    api_key: bench
    models:
      - id: ${slug}/model
        upstream: model
        context_length: 128000
        max_completion_tokens: 4096
        pricing: { prompt: 0.15, completion: 0.60 }`
  return `providers:${provider("bench", upstream)}${provider("stream", streaming)}
tiers:
  enterprise: { requests_per_minute: 100000000, tokens_per_minute: 1000000000, concurrency: 100000 }
cache: { enabled: true, ttl_seconds: 3600, scope: key, max_entries: 10000 }
`
}

/** `off`: nothing is reserved, limited or recorded; else with every policy on, on the embedded database or on a Postgres of its own. */
export type Durability = "off" | "embedded" | "postgres"

interface GatewayOptions {
  readonly durability: Durability
  /** What the key may spend in a month, in USD; null: there is no cap. */
  readonly budgetUsd: number | null
}

/** Its key has limits that are checked and not reached, and the default a budget that is never used up. */
export const startGateway = async (
  closers: Closers,
  upstream: Server,
  streaming: Server,
  { budgetUsd, durability }: GatewayOptions = { durability: "postgres", budgetUsd: 1_000_000 }
): Promise<Server> => {
  const path = directory(closers)
  const adminKey = "bench-admin-key-of-this-run-only"
  const config = join(path, "tollgate.yaml")
  writeFileSync(config, settingsFile(upstream, streaming))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env: NodeJS.ProcessEnv = {
    PATH: process.env["PATH"],
    NODE_ENV: "production",
    TOLLGATE_PORT: String(port),
    TOLLGATE_ADMIN_KEY: adminKey,
    TOLLGATE_CONFIG: config,
    TOLLGATE_DATA_DIR: join(path, "data"),
    TOLLGATE_LOG_LEVEL: "warn"
  }
  if (durability === "postgres") {
    const postgres = await startPostgres(["fsync=on", "synchronous_commit=on", "full_page_writes=on"])
    closers.add(() => postgres.stop())
    env["DATABASE_URL"] = postgres.url
  }
  const main = join(import.meta.dirname, durability === "off" ? "ungoverned.ts" : "../../src/main.ts")
  const ready = answers(`${url}/health/ready`, (status) => status === 200)
  const pid = await start(closers, process.execPath, [main], env, ready)
  const response = await fetch(`${url}/v1/keys`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-admin-key": adminKey },
    body: JSON.stringify({ name: "bench", tier: "enterprise", monthly_budget_usd: budgetUsd })
  })
  const record = (await response.json()) as { readonly key?: string }
  if (record.key === undefined) throw new Error(`no key from the gateway: ${response.status} ${JSON.stringify(record)}`)
  return { name: "tollgate", url, pid, headers: { authorization: `Bearer ${record.key}` } }
}
