/**
 * The processes other than the gateway, each on a free port of 127.0.0.1 and stopped at the end:
 * nginx with one canned completion, and programs of this directory. If a process does not become
 * ready, its output is shown.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Closers } from "./closers.ts"
import { garbageProbe } from "./garbage.ts"
import { completion } from "./messages.ts"

export interface Server {
  readonly name: string
  readonly url: string
  /** The process to measure. */
  readonly pid: number
  /** The processes that serve, if `pid` only supervises them. */
  readonly workers?: ReadonlyArray<number>
  readonly headers: Readonly<Record<string, string>>
  /** The file of its garbage collector's reports. Undefined: it makes none. */
  readonly garbage?: string
}

/** A server, and its path for requests. */
export interface Target {
  readonly server: Server
  readonly path: string
  /** Overrides `unique` of the measurement for this target. */
  readonly unique?: boolean
  /** A header whose value is another one in each request. */
  readonly uniqueHeader?: string
}

export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

export const directory = (closers: Closers): string => {
  const path = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  closers.add(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Starts a process and waits until `ready` resolves to true. */
export const start = async (
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

export const answers = (url: string, accepted: (status: number) => boolean) => async () =>
  accepted((await fetch(url, { signal: AbortSignal.timeout(2_000) })).status)

/** nginx, which answers every request with the canned completion. */
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
  access_log off; keepalive_requests 1000000000; keepalive_timeout 300s; default_type application/json; client_max_body_size 0;
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

/** A Node program in this directory. Its arguments are its port and `args`. */
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
  const probe = garbageProbe(closers)
  const env = { ...process.env, ...probe.env }
  const pid = await start(closers, process.execPath, [file, String(port), ...args], env, ready)
  return { name, url, pid, headers: {}, garbage: probe.file }
}
