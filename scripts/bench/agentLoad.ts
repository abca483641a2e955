/** Sends an agent's requests one after the other on some connections, and reads their answers. */
import { Pool } from "undici"
import { agentBody, type Surface } from "./agentBodies.ts"
import { type Garbage, watchGarbage } from "./garbage.ts"
import { cpuMicros, residentMib } from "./processStat.ts"
import { type Server } from "./servers.ts"

export interface AgentTarget {
  readonly server: Server
  readonly path: string
  /** The end of a stream that is whole. */
  readonly end: string
}

export interface AgentOptions {
  readonly surface: Surface
  readonly model: string
  readonly characters: number
  readonly stream: boolean
  readonly connections: number
  readonly seconds: number
}

export interface AgentLoad {
  readonly requests: number
  readonly failed: number
  readonly seconds: number
  /** To the first byte of the answer, in milliseconds. */
  readonly firstByteMs: ReadonlyArray<number>
  readonly cpuMicros: number
  readonly garbage: Garbage
  readonly residentMib: number
}

export const driveAgents = async ({ end, path, server }: AgentTarget, options: AgentOptions): Promise<AgentLoad> => {
  const { characters, connections, model, stream, surface } = options
  const pool = new Pool(server.url, { connections })
  const nonce = crypto.randomUUID()
  const firstByteMs: Array<number> = []
  let [count, requests, failed, reason] = [0, 0, 0, ""]

  const one = async (): Promise<void> => {
    const body = agentBody(surface, model, { characters, count: count++, nonce, stream })
    const startedMs = performance.now()
    const { body: answer, statusCode } = await pool.request({
      path,
      method: "POST",
      headers: { "content-type": "application/json", ...server.headers },
      body
    })
    let [last, first, ended] = ["", true, !stream]
    for await (const chunk of answer) {
      if (first) firstByteMs.push(performance.now() - startedMs)
      first = false
      last += (chunk as Buffer).toString("latin1")
      ended ||= last.includes(end)
      last = last.slice(-300)
    }
    if (statusCode === 200 && ended) requests++
    else {
      failed++
      reason ||= `status ${statusCode}: ${last}`
    }
  }

  const collected = await watchGarbage(server)
  const before = cpuMicros(server.pid)
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() - startedMs < options.seconds * 1_000) {
        await one().catch((cause: unknown) => {
          failed++
          reason ||= String(cause)
        })
      }
    })
  )
  const seconds = (performance.now() - startedMs) / 1_000
  const used = cpuMicros(server.pid) - before
  const garbage = await collected()
  await pool.close()
  if (reason !== "") console.error(`  ${server.name}: ${reason}`)
  return { requests, failed, seconds, firstByteMs, cpuMicros: used, garbage, residentMib: residentMib(server.pid) }
}
