/**
 * The scripted upstream's process: a plain HTTP server that is controlled over IPC. Upstream.ts
 * starts it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"
import { type Writable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { type Behaviour, type Command, type Pause, type Received, type Report } from "./Behaviour.ts"

/** How long a write waits before the other side counts as not reading. */
const BLOCKED_AFTER_MS = 1_000

interface Progress {
  sentBytes: number
  isBlocked: boolean
}

const scripts = new Map<string, { readonly behaviours: ReadonlyArray<Behaviour>; calls: number }>()
const requests: Array<{ -readonly [Member in keyof Received]: Received[Member] }> = []
const gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>()

const report = (message: Report): void => {
  if (process.connected) process.send?.(message)
}
const changed = (): void => report({ type: "changed", requests })

const gate = (name: string) => {
  const known = gates.get(name)
  if (known !== undefined) return known
  const { promise, resolve } = Promise.withResolvers<void>()
  const made = { opened: promise, open: resolve }
  gates.set(name, made)
  return made
}

const pause = (pause: Pause): Promise<void> => ("gate" in pause ? gate(pause.gate).opened : sleep(pause.waitMs))

const unscripted: Behaviour = {
  status: 404,
  json: {
    error: {
      message: "no script for this model",
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found"
    }
  }
}

const nextBehaviour = (model: string): Behaviour => {
  const script = scripts.get(model)
  if (script === undefined) return unscripted
  const behaviour = script.behaviours[Math.min(script.calls, script.behaviours.length - 1)]
  script.calls++
  return behaviour ?? unscripted
}

/** Writes a piece and waits until the system has taken it. */
const write = async (to: Writable, piece: string | Uint8Array, progress: Progress): Promise<void> => {
  if (piece.length === 0) return
  const blocked = setTimeout(() => {
    progress.isBlocked = true
    changed()
  }, BLOCKED_AFTER_MS)
  const isTaken = await new Promise<boolean>((resolve) =>
    to.write(piece, (error) => resolve(error === null || error === undefined))
  )
  clearTimeout(blocked)
  progress.isBlocked = false
  if (isTaken) progress.sentBytes += piece.length
}

const answer = async (
  response: ServerResponse,
  behaviour: Behaviour,
  progress: Progress,
  given: () => boolean
): Promise<void> => {
  const socket = response.socket
  if (behaviour.ending === "reset_at_once") return void socket?.resetAndDestroy()
  if (behaviour.before !== undefined) await pause(behaviour.before)
  if (behaviour.ending === "silence" || given()) return
  const json = behaviour.json === undefined ? undefined : JSON.stringify(behaviour.json)
  const type = json === undefined ? "text/event-stream; charset=utf-8" : "application/json"
  const to = behaviour.raw === true && socket !== null ? socket : response
  if (to === response) {
    response.writeHead(behaviour.status ?? 200, { "content-type": type, ...behaviour.headers })
    response.flushHeaders()
  }
  for (const chunk of behaviour.chunks ?? [json ?? behaviour.body ?? ""]) {
    if (given()) return
    if (typeof chunk === "string" || chunk instanceof Uint8Array) await write(to, chunk, progress)
    else if ("repeat" in chunk) {
      const piece = Buffer.from(chunk.repeat)
      for (let times = 0; times < chunk.times && !given(); times++) await write(to, piece, progress)
      changed()
    } else await pause(chunk)
  }
  switch (behaviour.ending ?? "end") {
    case "end":
      return void to.end()
    case "reset":
      return void socket?.resetAndDestroy()
    case "close":
      return void socket?.destroy()
    default:
      return
  }
}

const receive = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) => {
  response.socket?.setNoDelay(true)
  const clientPort = request.socket.remotePort ?? 0
  void receive(request).then(
    (rawBody) => {
      const body = parse(rawBody)
      const named =
        typeof body === "object" && body !== null && "model" in body && typeof body.model === "string" ? body.model : ""
      // Gemini and Bedrock have it in the path.
      const model = named || decodeURIComponent(/\/models?\/([^/:?]+)/.exec(request.url ?? "")?.[1] ?? "")
      const received = {
        id: requests.length,
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        model,
        body,
        rawBody,
        receivedAtMs: Date.now(),
        closedEarly: false,
        closedAtMs: null as number | null,
        sentBytes: 0,
        isBlocked: false,
        clientPort
      }
      requests.push(received)
      const behaviour = nextBehaviour(model)
      let ours = false
      response.on("close", () => {
        received.closedAtMs = Date.now()
        received.closedEarly = !ours && !response.writableFinished
        changed()
      })
      changed()
      void answer(response, behaviour, received, () => response.destroyed).then(() => {
        ours =
          behaviour.raw === true ||
          behaviour.ending === "reset" ||
          behaviour.ending === "close" ||
          behaviour.ending === "reset_at_once"
      })
    },
    () => undefined
  )
})

process.on("message", (command: Command) => {
  if (command.type === "script") scripts.set(command.model, { behaviours: command.behaviours, calls: 0 })
  else if (command.type === "open") gate(command.gate).open()
  else if (command.type === "reset") {
    scripts.clear()
    gates.clear()
    requests.length = 0
  }
  report({ type: "done", id: command.id, requests })
})
process.on("disconnect", () => process.exit(0))

server.listen(0, "127.0.0.1", () => report({ type: "listening", port: (server.address() as AddressInfo).port }))
