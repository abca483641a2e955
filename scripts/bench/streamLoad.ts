/**
 * Holds streams open against one server and measures each token's delay: the upstream writes the
 * time of sending into the token (streamUpstream.ts). A stream without `[DONE]`, or with a wrong
 * number of tokens, is broken.
 */
import { Pool } from "undici"
import { chatBody } from "./messages.ts"
import { cpuMicros, residentMib } from "./processStat.ts"
import { quantile } from "./quantile.ts"
import { type Server } from "./servers.ts"

export interface StreamLoad {
  /** Streams that ended normally. */
  readonly completed: number
  readonly broken: number
  readonly tokensPerSecond: number
  /** From the request to its first token. The upstream itself takes 50 ms. */
  readonly firstTokenP50Ms: number
  readonly firstTokenP99Ms: number
  /** From the sending of a token to its arrival. */
  readonly tokenDelayP50Ms: number
  readonly tokenDelayP99Ms: number
  readonly cpuMicrosPerToken: number
  readonly residentMib: number
}

const TOKENS = 50
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

export const driveStreams = async (
  server: Server,
  options: { readonly path: string; readonly model: string; readonly streams: number; readonly seconds: number }
): Promise<StreamLoad> => {
  const pool = new Pool(server.url, { connections: options.streams })
  const firsts: Array<number> = []
  const delays: Array<number> = []
  let completed = 0
  let broken = 0
  let reason = ""

  const one = async (prompt: string): Promise<void> => {
    const startedMs = nowMs()
    const { statusCode, body } = await pool.request({
      path: options.path,
      method: "POST",
      headers: { "content-type": "application/json", ...server.headers },
      body: chatBody(options.model, prompt, true)
    })
    let tokens = 0
    let rest = ""
    let ended = false
    for await (const chunk of body) {
      const arrivedMs = nowMs()
      rest += (chunk as Buffer).toString("latin1")
      let from = 0
      for (const token of rest.matchAll(/<(\d+\.\d{3})>/g)) {
        if (tokens === 0) firsts.push(arrivedMs - startedMs)
        tokens++
        delays.push(arrivedMs - Number(token[1]))
        from = token.index + token[0].length
      }
      ended ||= rest.includes("data: [DONE]", from)
      rest = rest.slice(Math.max(from, rest.length - 64))
    }
    if (statusCode === 200 && ended && tokens === TOKENS) completed++
    else {
      broken++
      reason ||= `status ${statusCode}, ${tokens} tokens, ${ended ? "ended" : "cut"}: ${rest.slice(-200)}`
    }
  }

  const before = cpuMicros(server.pid)
  const startedMs = nowMs()
  const untilMs = startedMs + options.seconds * 1_000
  const nonce = crypto.randomUUID()
  await Promise.all(
    Array.from({ length: options.streams }, async (_, lane) => {
      for (let turn = 0; nowMs() < untilMs; turn++) {
        await one(`${nonce} ${lane} ${turn}`).catch((cause: unknown) => {
          broken++
          reason ||= String(cause)
        })
      }
    })
  )
  const seconds = (nowMs() - startedMs) / 1_000
  const used = cpuMicros(server.pid) - before
  const memory = residentMib(server.pid)
  await pool.close()
  if (reason !== "") console.error(`  ${server.name}: a broken stream: ${reason}`)
  firsts.sort((a, b) => a - b)
  delays.sort((a, b) => a - b)
  return {
    completed,
    broken,
    tokensPerSecond: delays.length / seconds,
    firstTokenP50Ms: quantile(firsts, 0.5),
    firstTokenP99Ms: quantile(firsts, 0.99),
    tokenDelayP50Ms: quantile(delays, 0.5),
    tokenDelayP99Ms: quantile(delays, 0.99),
    cpuMicrosPerToken: used / Math.max(1, delays.length),
    residentMib: memory
  }
}
