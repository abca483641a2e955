/**
 * Holds many long streams open against one server, started at different times, and measures while
 * all run: the time to the first token, each token's delay (crowdUpstream.ts writes the time of
 * sending into it), and the server's resources.
 */
import { Pool } from "undici"
import { setTimeout as pause } from "node:timers/promises"
import { chatBody } from "./messages.ts"
import { cpuMicros, residentMib } from "./processStat.ts"
import { quantile } from "./quantile.ts"
import { type Target } from "./servers.ts"

export interface CrowdOptions {
  readonly streams: number
  readonly tokensPerStream: number
  /** Approximate duration of a stream, from its request to its end. */
  readonly lifeMs: number
  /** Duration of the measurement, after all streams are open. */
  readonly seconds: number
}

export interface CrowdLoad {
  readonly tokensPerSecond: number
  readonly firstTokenP50Ms: number
  readonly firstTokenP99Ms: number
  readonly tokenDelayP50Ms: number
  readonly tokenDelayP99Ms: number
  /**
   * The longest time of a whole stream from its first token to its last, as a multiple of the
   * upstream's.
   */
  readonly slowest: number
  readonly cpuMsPerThousandTokens: number
  /** Processor seconds per second: 1 is one core. */
  readonly cores: number
  /** The maximum. */
  readonly residentMib: number
  readonly completed: number
  readonly broken: number
}

const nowMs = (): number => {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1e3 + nanos / 1e6
}

/** One stream's content as it arrives. */
class Reading {
  tokens = 0
  /** When the first and the last token were sent, and when they arrived. */
  sentFirst = 0
  sentLast = 0
  cameFirst = 0
  cameLast = 0
  ended = false
  #rest = ""

  /** Calls `onToken` with the delay of each token. */
  take(chunk: Buffer, onToken: (delayMs: number) => void): void {
    const came = nowMs()
    const text = this.#rest + chunk.toString("latin1")
    let from = 0
    for (let open = text.indexOf("<"); open !== -1; open = text.indexOf("<", from)) {
      const close = text.indexOf(">", open)
      if (close === -1) break
      const sent = Number(text.slice(open + 1, close))
      if (this.tokens++ === 0) [this.sentFirst, this.cameFirst] = [sent, came]
      ;[this.sentLast, this.cameLast] = [sent, came]
      onToken(came - sent)
      from = close + 1
    }
    this.ended ||= text.includes("data: [DONE]", from)
    // A possible beginning of a token or of the end.
    this.#rest = text.slice(Math.max(from, text.length - 64))
  }

  get slowness(): number {
    return (this.cameLast - this.cameFirst) / (this.sentLast - this.sentFirst)
  }
}

export const driveCrowd = async ({ path, server }: Target, options: CrowdOptions): Promise<CrowdLoad> => {
  const pool = new Pool(server.url, { connections: options.streams, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const [firsts, delays, slow] = [Array.of<number>(), Array.of<number>(), Array.of<number>()]
  let [completed, broken, reason] = [0, 0, ""]
  const phase = { measuring: false, over: false }
  const nonce = crypto.randomUUID()
  const onToken = (delayMs: number) => {
    if (phase.measuring) delays.push(delayMs)
  }

  const one = (name: string): Promise<void> =>
    new Promise((resolve) => {
      const reading = new Reading()
      const startedMs = nowMs()
      const wasMeasuring = phase.measuring
      let status = 0
      const end = (error?: Error) => {
        if (!phase.over && status === 200 && reading.ended && reading.tokens === options.tokensPerStream) {
          completed++
          if (phase.measuring) slow.push(reading.slowness)
        } else if (!phase.over) {
          broken++
          reason ||= `status ${status}, ${reading.tokens} tokens, ${reading.ended ? "ended" : "cut"} ${error?.message ?? ""}`
        }
        resolve()
      }
      const body = chatBody("stream/model", `${nonce} ${name}`, true)
      const headers = { "content-type": "application/json", ...server.headers }
      pool.dispatch(
        { path, method: "POST", headers, body },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, code) => void (status = code),
          onResponseData: (_controller, chunk) => {
            const none = reading.tokens === 0
            reading.take(chunk, onToken)
            if (none && reading.tokens > 0 && wasMeasuring) firsts.push(reading.cameFirst - startedMs)
          },
          onResponseEnd: () => end(),
          onResponseError: (_controller, error) => end(error)
        }
      )
    })

  const lanes = Array.from({ length: options.streams }, async (_, lane) => {
    await pause((lane / options.streams) * options.lifeMs)
    for (let turn = 0; !phase.over; turn++) await one(`${lane} ${turn}`)
  })
  // All streams are open, and the first ones start again.
  await pause(options.lifeMs * 1.2)
  const [before, fromMs] = [cpuMicros(server.pid), nowMs()]
  phase.measuring = true
  let memory = 0
  for (let second = 0; second < options.seconds; second++) {
    await pause(1_000)
    memory = Math.max(memory, residentMib(server.pid))
  }
  phase.measuring = false
  phase.over = true
  const [used, seconds] = [cpuMicros(server.pid) - before, (nowMs() - fromMs) / 1_000]
  await pool.destroy()
  await Promise.all(lanes)
  if (reason !== "") console.error(`  ${server.name}: a broken stream: ${reason}`)
  const [sortedFirsts, sortedDelays] = [Float64Array.from(firsts).sort(), Float64Array.from(delays).sort()]
  return {
    tokensPerSecond: delays.length / seconds,
    firstTokenP50Ms: quantile(sortedFirsts, 0.5),
    firstTokenP99Ms: quantile(sortedFirsts, 0.99),
    tokenDelayP50Ms: quantile(sortedDelays, 0.5),
    tokenDelayP99Ms: quantile(sortedDelays, 0.99),
    slowest: slow.reduce((most, one) => Math.max(most, one), 0),
    cpuMsPerThousandTokens: used / Math.max(1, delays.length),
    cores: used / (seconds * 1e6),
    residentMib: memory,
    completed,
    broken
  }
}
