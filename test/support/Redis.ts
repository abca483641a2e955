/**
 * A real Redis for tests: `startRedis` for the whole run, `spawnRedis` for a test that stops,
 * stalls or restarts its own. Nothing is written to disk. Every server listens on loopback only and
 * ends with the process that started it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { createInterface } from "node:readline"

declare module "vitest" {
  export interface ProvidedContext {
    readonly redisUrl: string
  }
}

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Freezes the server: connections stay open, and nothing is answered. */
  readonly pause: () => void
  readonly resume: () => void
  /** Kills it and waits for its end. Idempotent. */
  readonly stop: () => Promise<void>
}

const bindAttempts = 5

/**
 * `TOLLGATE_TEST_REDIS_URL` if it is set, or else a server for this run. Rejects with what to
 * install if there is none.
 */
export const startRedis = async (): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> => {
  const url = process.env["TOLLGATE_TEST_REDIS_URL"]
  return url === undefined || url === "" ? spawnRedis() : { url, stop: () => Promise.resolve() }
}

/**
 * A server on `port`, or on a port that was free a moment ago. If that was taken meanwhile, it
 * starts on another one.
 */
export const spawnRedis = async (options?: {
  readonly port?: number
  readonly password?: string
}): Promise<RedisServer> => {
  for (let attempt = 1; ; attempt++) {
    const port = options?.port ?? (await freePort())
    try {
      return await spawnOn(port, options?.password)
    } catch (cause) {
      const taken = cause instanceof Error && cause.message.includes("Address already in use")
      if (!taken || options?.port !== undefined || attempt === bindAttempts) throw cause
    }
  }
}

const spawnOn = async (port: number, password: string | undefined): Promise<RedisServer> => {
  const child = spawn(
    "redis-server",
    [
      ["--port", String(port), "--bind", "127.0.0.1", "--dir", tmpdir(), "--appendonly", "no"],
      ["--save", ""],
      password === undefined ? [] : ["--requirepass", password]
    ].flat(),
    { stdio: ["ignore", "pipe", "inherit"] }
  )
  const killAtExit = () => void child.kill("SIGKILL")
  process.once("exit", killAtExit)
  const stop = async (): Promise<void> => {
    process.removeListener("exit", killAtExit)
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, "exit")
    child.kill("SIGKILL")
    await gone
  }
  try {
    await ready(child)
  } catch (cause) {
    process.removeListener("exit", killAtExit)
    throw cause
  }
  return {
    url: `redis://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`,
    port,
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    stop
  }
}

const ready = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    const output: Array<string> = []
    child.once("error", (cause) =>
      reject(
        new Error(
          "redis-server is not on PATH: install it (`apt-get install redis-server`) or set TOLLGATE_TEST_REDIS_URL",
          {
            cause
          }
        )
      )
    )
    child.once("close", () => reject(new Error(`redis-server ended before it was ready:\n${output.join("\n")}`)))
    const stdout = child.stdout
    if (stdout === null) return reject(new Error("redis-server was started without a pipe for its output"))
    createInterface({ input: stdout }).on("line", (line) => {
      output.push(line)
      if (line.includes("Ready to accept connections")) resolve()
    })
  })

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("a TCP server has an address and a port")
  return address.port
}
