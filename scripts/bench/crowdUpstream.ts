/**
 * An upstream for many long streams that keeps its pace at low cost: minimal HTTP over bare
 * sockets, and one timer for all streams. The first token comes 50 ms after the request; a late
 * token does not delay later ones. Each token is the time of its sending, as in streamUpstream.ts.
 * Arguments: its port, tokens per stream, ms between tokens.
 */
import { createServer, type Socket } from "node:net"

const FIRST_MS = 50
const [port, tokens, everyMs] = process.argv.slice(2).map(Number) as [number, number, number]

const head = `"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1790000000,"model":"model"`
const event = (delta: string, finish: string) =>
  `data: {${head},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`
const framed = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const [before, after] = event(`{"content":"<@>"}`, "null").split("@") as [string, string]
const usage = `{"prompt_tokens":40,"completion_tokens":${tokens},"total_tokens":${40 + tokens}}`
const last = framed(`${event("{}", `"stop"`)}data: {${head},"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`)

const nowMs = (): number => {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1e3 + nanos / 1e6
}

interface Open {
  readonly socket: Socket
  readonly fromMs: number
  sent: number
}

/** Streams by the millisecond, modulo `everyMs`, in which their tokens are due. */
const slots = Array.from({ length: everyMs }, () => new Set<Open>())

const writeToken = (open: Open, slot: Set<Open>): void => {
  if (open.socket.destroyed) return void slot.delete(open)
  if (open.sent === tokens) {
    slot.delete(open)
    open.socket.write(`${last}0\r\n\r\n`, "latin1")
    return
  }
  open.sent++
  open.socket.write(framed(`${before}${nowMs().toFixed(3)}${after}`), "latin1")
}

let tick = Math.floor(nowMs())
setInterval(() => {
  for (const until = Math.floor(nowMs()); tick <= until; tick++) {
    const slot = slots[tick % everyMs] ?? new Set()
    for (const open of slot) if (open.fromMs <= tick) writeToken(open, slot)
  }
}, 1)

const answer = (socket: Socket, method: string): void => {
  if (method !== "POST") return void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
  socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
  const fromMs = Math.floor(nowMs()) + FIRST_MS
  slots[fromMs % everyMs]?.add({ socket, fromMs, sent: 0 })
}

createServer({ noDelay: true }, (socket) => {
  let read = ""
  socket.on("error", () => socket.destroy())
  socket.on("data", (chunk: Buffer) => {
    read += chunk.toString("latin1")
    const end = read.indexOf("\r\n\r\n")
    if (end === -1) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(read.slice(0, end))?.[1] ?? 0)
    if (read.length < end + 4 + length) return
    const method = read.slice(0, read.indexOf(" "))
    read = read.slice(end + 4 + length)
    answer(socket, method)
  })
}).listen({ port, host: "127.0.0.1", backlog: 2_048 })
