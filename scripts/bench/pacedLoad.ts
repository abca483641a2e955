/**
 * Sends whole requests at a given rate, however long responses take. Waiting time counts, so slow
 * responses do not hide later requests.
 */
import { Pool } from "undici"
import { setTimeout as pause } from "node:timers/promises"
import { chatBody } from "./messages.ts"
import { type Target } from "./servers.ts"

export interface PacedLoad {
  readonly done: number
  /** Answers other than 200, and broken connections. */
  readonly errors: number
  readonly latenciesMs: ReadonlyArray<number>
}

/** Interval at which due requests are sent together. */
const TICK_MS = 10
/** Open requests that show that the server does not keep up. */
const MOST_OPEN = 5_000

export const drivePaced = async (
  { path, server }: Target,
  { rate, seconds }: { readonly rate: number; readonly seconds: number }
): Promise<PacedLoad> => {
  const pool = new Pool(server.url, { connections: 64, pipelining: 1 })
  const nonce = crypto.randomUUID()
  const headers = { "content-type": "application/json", ...server.headers }
  const latenciesMs: Array<number> = []
  const open = new Set<Promise<void>>()
  let [done, errors, sent] = [0, 0, 0]

  const one = async (dueMs: number): Promise<void> => {
    const body = chatBody("bench/model", `${nonce} ${sent++}`, false)
    const { body: answer, statusCode } = await pool.request({ path, method: "POST", headers, body })
    await answer.dump()
    latenciesMs.push(performance.now() - dueMs)
    if (statusCode === 200) done++
    else errors++
  }

  const fromMs = performance.now()
  const untilMs = fromMs + seconds * 1_000
  for (let dueMs = fromMs; dueMs < untilMs; await pause(TICK_MS)) {
    const nowMs = performance.now()
    for (; dueMs <= nowMs && dueMs < untilMs; dueMs += 1_000 / rate) {
      if (open.size >= MOST_OPEN)
        throw new Error(`${server.name} does not keep up with ${Math.round(rate)} requests a second`)
      const running = one(dueMs).catch(() => void errors++)
      open.add(running)
      void running.finally(() => open.delete(running))
    }
  }
  await Promise.all(open)
  await pool.close()
  return { done, errors, latenciesMs }
}
