/**
 * A gateway on the embedded database, in a directory of its own, with a mock of a model provider
 * from another project (aimock) behind it.
 */
import { LLMock } from "@copilotkit/aimock"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const START_LIMIT_MS = 180_000

/** `stop` ends both. Rejects with the gateway's log when it does not start. */
export const startGateway = async (root, fixtures) => {
  const provider = new LLMock({ port: 0, host: "127.0.0.1", strict: true, journalMaxEntries: 0 })
  provider.addFixturesFromJSON(fixtures)
  const providerUrl = await provider.start()
  const directory = mkdtempSync(join(tmpdir(), "tollgate-clients-"))
  const offer = (id, upstream) => [
    { id, upstream, pricing: { prompt: 2, completion: 8 }, max_completion_tokens: 1_000 }
  ]
  const providers = [
    { slug: "acme", dialect: "openai", base_url: `${providerUrl}/v1`, models: offer("test/chat", "chat-2026") },
    { slug: "claude", dialect: "anthropic", base_url: providerUrl, models: offer("claude/chat", "claude-sonnet-4-5") },
    { slug: "gemini", dialect: "gemini", base_url: providerUrl, models: offer("gemini/chat", "gemini-2.5-flash") },
    {
      slug: "responses",
      dialect: "openai",
      api: "responses",
      base_url: `${providerUrl}/v1`,
      models: offer("responses/chat", "chat-2026")
    },
    {
      slug: "bedrock",
      dialect: "bedrock",
      base_url: providerUrl,
      api_key: "AKIATESTTESTTESTTEST:secret",
      models: offer("bedrock/chat", "anthropic.claude-sonnet-4-5-20250929-v1:0")
    }
  ].map((provider) => ({ api_key: `sk-${provider.slug}`, ...provider }))
  writeFileSync(join(directory, "tollgate.yaml"), JSON.stringify({ providers }))
  const adminKey = `tga-${randomBytes(24).toString("hex")}`
  const child = spawn(join(root, "scripts/start"), [], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME ?? directory,
      TOLLGATE_PORT: "0",
      TOLLGATE_CONFIG: join(directory, "tollgate.yaml"),
      TOLLGATE_DATA_DIR: join(directory, "data"),
      TOLLGATE_ADMIN_KEY: adminKey,
      TOLLGATE_LOG_FORMAT: "json",
      TOLLGATE_SHUTDOWN_GRACE_MS: "0"
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let log = ""
  child.stdout.on("data", (chunk) => (log += chunk))
  child.stderr.on("data", (chunk) => (log += chunk))
  const ended = new Promise((resolve) => child.once("close", resolve))
  const stop = async () => {
    child.kill("SIGTERM")
    await ended
    await provider.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  const limit = Date.now() + START_LIMIT_MS
  while (!log.includes('"message":"ready"')) {
    if (child.exitCode !== null || Date.now() > limit) {
      await stop()
      throw new Error(`The gateway did not start. Its log:\n${log}`)
    }
    await sleep(100)
  }
  const ready = log.split("\n").find((line) => line.includes('"message":"ready"'))
  const { url } = JSON.parse(ready).annotations
  /** The secret of a new key. */
  const newKey = async (more = {}) => {
    const response = await fetch(`${url}/v1/keys`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-admin-key": adminKey },
      body: JSON.stringify({ name: "clients", tier: "enterprise", ...more })
    })
    return (await response.json()).key
  }
  return { url: `${url}/v1`, key: await newKey(), newKey, stop }
}
