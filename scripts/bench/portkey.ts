/**
 * Portkey's gateway in front of the same provider, for comparison. It is installed into the user's
 * cache directory on first use. It runs without guardrails, cache, log and retries; the headers
 * name the provider and its address.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Measure, Skipped } from "./bench.ts"
import { type Closers } from "./closers.ts"
import { path, startGateway } from "./gateway.ts"
import { measureRequests } from "./requests.ts"
import { answers, freePort, type Server, start, startProgram, type Target } from "./servers.ts"

const NAME = "@portkey-ai/gateway"
const VERSION = "1.15.2"

/** Its streams fail with the newer version of its server that npm would choose. */
const pinned = { "@hono/node-server": "1.14.1" }

/** Returns the file of its server. */
const install = async (): Promise<string | Skipped> => {
  const place = join(
    process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
    "tollgate-bench",
    `portkey-${VERSION}-pinned`
  )
  const file = join(place, "node_modules", NAME, "build", "start-server.js")
  if (existsSync(file)) return file
  mkdirSync(place, { recursive: true })
  const own = { private: true, dependencies: { [NAME]: VERSION }, overrides: pinned }
  writeFileSync(join(place, "package.json"), JSON.stringify(own))
  const flags = ["--ignore-scripts", "--omit=dev", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
  try {
    await promisify(execFile)("npm", ["install", "--prefix", place, ...flags], {
      timeout: 180_000
    })
  } catch (cause) {
    return new Skipped(`npm could not install ${NAME}@${VERSION}: ${String(cause).split("\n").slice(0, 3).join(" ")}`)
  }
  return existsSync(file) ? file : new Skipped(`${NAME}@${VERSION} has no ${file}`)
}

const startPortkey = async (closers: Closers, file: string, upstream: Server): Promise<Server> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = { PATH: process.env["PATH"], NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: "127.0.0.1" }
  const ready = answers(url, (status) => status < 500)
  const pid = await start(closers, process.execPath, [file, `--port=${port}`, "--headless"], env, ready)
  const headers = {
    authorization: "Bearer bench",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${upstream.url}/v1`
  }
  return { name: "Portkey", url, pid, headers }
}

export const measurePortkey: Measure = async (bench, closers) => {
  const { nginx, streaming } = bench
  const file = await install()
  if (file instanceof Skipped) return file
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
  const portkey = await startPortkey(closers, file, nginx)
  const gateway = await startGateway(closers, nginx, streaming)
  const uncapped = await startGateway(closers, nginx, streaming, { budgetUsd: null })
  const off = await startGateway(closers, nginx, streaming, { durability: "off" })
  // Shows the cost of waiting for the disk: Portkey's gateway writes nothing.
  const unwaiting = await startGateway(closers, nginx, streaming, { waitsForDisk: false })
  const targets: ReadonlyArray<Target> = [
    { server: bare, path },
    { server: portkey, path },
    { server: { ...gateway, name: "capped" }, path },
    { server: { ...uncapped, name: "no cap" }, path },
    { server: { ...gateway, name: "hits" }, path, unique: false },
    { server: { ...off, name: "governance off" }, path },
    { server: { ...unwaiting, name: "capped, not waiting for the disk" }, path }
  ]
  return measureRequests(bench, targets, { unique: true })
}
