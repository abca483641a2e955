/**
 * The gateway under test: its own process on the embedded database, with the mock provider and high
 * limits.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Closers } from "../bench/closers.ts"
import { answers, directory, freePort, start } from "../bench/servers.ts"
import { type Victims } from "./calls.ts"

const adminKey = "fuzz-admin-key-that-lives-for-one-run-only"

const settings = `
tiers:
  free: { requests_per_minute: 1000000, tokens_per_minute: 100000000, concurrency: 100 }
  pro: { requests_per_minute: 1000000, tokens_per_minute: 100000000, concurrency: 100 }
  enterprise: { requests_per_minute: 1000000, tokens_per_minute: 1000000000, concurrency: 1000 }
auth:
  access_token_seconds: 3600
  trusted_proxies: [127.0.0.1/32]
  limits: { per_destination_hour: 1000000, per_address_minute: 1000000, global_minute: 1000000, new_accounts_day: 1000000 }
`

export interface FuzzedGateway {
  readonly url: string
  readonly pid: number
  readonly victims: Victims
  /** Ids of keys and users that the run itself needs. Calls must not change them. */
  readonly own: ReadonlySet<string>
  /** Keys whose spending is compared with their generations at the end. */
  readonly keys: ReadonlyArray<{ readonly id: string; readonly key: string }>
  /** Access tokens are valid for an hour at most. */
  readonly signInAgain: () => Promise<void>
  readonly admin: (path: string) => Promise<Record<string, unknown>>
}

const post = async (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answers ${response.status}: ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

let visitors = 0

/** A user signed in by a code of the development mailbox, from a network address of its own. */
const signIn = async (url: string, email: string) => {
  const address = { "x-forwarded-for": `198.51.${Math.floor(visitors / 250)}.${(visitors++ % 250) + 1}` }
  const { challenge_id } = await post(`${url}/auth/register/email/start`, { email }, address)
  const letters = (await (await fetch(`${url}/auth/dev/mailbox`)).json()) as {
    readonly data: ReadonlyArray<{ readonly destination: string; readonly code: string }>
  }
  const code = letters.data.find(({ destination }) => destination === email)?.code
  const session = await post(`${url}/auth/register/email/verify`, { challenge_id, code }, address)
  return { token: String(session["access_token"]), userId: (session["user"] as { readonly id: string }).id }
}

export const startGateway = async (closers: Closers): Promise<FuzzedGateway> => {
  const place = directory(closers)
  const config = join(place, "tollgate.yaml")
  writeFileSync(config, settings)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env: NodeJS.ProcessEnv = {
    PATH: process.env["PATH"],
    TOLLGATE_PORT: String(port),
    TOLLGATE_ADMIN_KEY: adminKey,
    TOLLGATE_CONFIG: config,
    TOLLGATE_DATA_DIR: join(place, "data"),
    TOLLGATE_LOG_LEVEL: "error",
    TOLLGATE_LOG_FORMAT: "json"
  }
  const flags = readFileSync(join(import.meta.dirname, "../node-flags"), "utf8")
    .trim()
    .split("\n")
  const ready = answers(`${url}/health/ready`, (status) => status === 200)
  const pid = await start(
    closers,
    process.execPath,
    [...flags, join(import.meta.dirname, "../../src/main.ts")],
    env,
    ready
  )

  const admin = { "x-admin-key": adminKey }
  const keys: Array<{ readonly id: string; readonly key: string }> = []
  for (const budget of [null, 1_000, 0.01]) {
    const record = await post(`${url}/v1/keys`, { name: "fuzz", tier: "enterprise", monthly_budget_usd: budget }, admin)
    keys.push({ id: String(record["id"]), key: String(record["key"]) })
  }
  await post(`${url}/v1/admin/users`, { email: "operator@example.com", role: "admin" }, admin)
  const signInBoth = async () => [await signIn(url, "operator@example.com"), await signIn(url, "user@example.com")]
  const users = await signInBoth()
  const sessions = users.map(({ token }) => token)
  return {
    url,
    pid,
    keys,
    own: new Set([...keys.map(({ id }) => id), ...users.map(({ userId }) => userId)]),
    victims: {
      apiKeys: keys.map(({ key }) => key),
      sessions,
      adminKey,
      ids: new Map()
    },
    signInAgain: async () =>
      void sessions.splice(0, sessions.length, ...(await signInBoth()).map(({ token }) => token)),
    admin: async (path) => (await (await fetch(`${url}${path}`, { headers: admin })).json()) as Record<string, unknown>
  }
}
