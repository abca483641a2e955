/**
 * A client on a real socket that stops reading a complete response is disconnected. Others are not.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { once } from "node:events"
import { type AddressInfo, connect, type Socket } from "node:net"
import { Ids } from "../../../src/domain/Ids.ts"
import { Listener } from "../../../src/http/edge/Listener.ts"

/** More than the operating system buffers for a connection. */
const large = "x".repeat(64 * 1024 * 1024)
const STALLED_MS = 300
/** A slow client pauses after this many bytes. */
const RESTED_BYTES = 8 * 1024 * 1024

const connected = Effect.gen(function* () {
  const layer = Listener.layer({ graceMs: 0, maxConnections: 10, stalledReaderMs: STALLED_MS })
  const { server } = Context.get(yield* Layer.build(Layer.provide(layer, Ids.layer)), Listener)
  server.on("request", ({ url }, response) => {
    if (url === "/large") return void response.end(large)
    // The response begins later than the limit.
    setTimeout(() => response.end("small"), 2 * STALLED_MS)
  })
  return yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
      const [accepted] = (await once(server, "connection")) as [Socket]
      return { accepted, server, socket }
    }),
    ({ server, socket }) =>
      Effect.sync(() => {
        socket.destroy()
        server.closeAllConnections()
        server.close()
      })
  )
})

it.live("a request before the program is ready is told to retry", () =>
  Effect.gen(function* () {
    const { server, socket } = yield* connected
    const [ours] = server.listeners("request")
    server.removeAllListeners("request")
    if (ours !== undefined)
      server.on("request", (...sent: ReadonlyArray<unknown>) => void Reflect.apply(ours, server, sent))
    socket.write(get("/health/ready"))
    let text = ""
    socket.on("data", (piece) => (text += piece.toString()))
    yield* Effect.promise(() => once(socket, "close"))
    assert.match(text, /^HTTP\/1\.1 503 /)
    assert.match(text, /retry-after: 1\r\n/i)
    assert.match(text, /"code":"overloaded"/)
  })
)

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`

it.live("a client that reads nothing of a complete response is disconnected", () =>
  Effect.gen(function* () {
    const { accepted, socket } = yield* connected
    socket.write(get("/large"))
    // The server closes the connection while the client has unread bytes in transit.
    yield* Effect.promise(() => once(accepted, "close"))
    let bytes = 0
    socket.on("data", (piece) => (bytes += piece.length))
    socket.on("error", () => {})
    yield* Effect.promise(() => new Promise((resolve) => socket.once("close", resolve)))
    assert.isBelow(bytes, large.length)
  })
)

it.live("a client that reads slowly, waits for its response or sends another request keeps its connection", () =>
  Effect.gen(function* () {
    const { socket } = yield* connected
    let [bytes, tail, isOver] = [0, "", false]
    socket.once("close", () => (isOver = true))
    const small = Effect.callback<void>((resume) => {
      socket.on("data", (piece) => {
        bytes += piece.length
        tail = `${tail}${piece.subarray(-100).toString("latin1")}`.slice(-100)
        if (tail.endsWith("small")) resume(Effect.void)
        if (bytes < RESTED_BYTES) return
        bytes = 0
        socket.pause()
        setTimeout(() => socket.resume(), STALLED_MS / 2)
      })
    })
    const pipelined = yield* Effect.forkChild(small, { startImmediately: true })
    socket.write(get("/large") + get("/small"))
    yield* Fiber.join(pipelined)
    tail = ""
    socket.removeAllListeners("data")
    const again = yield* Effect.forkChild(small, { startImmediately: true })
    socket.write(get("/small"))
    yield* Fiber.join(again)
    assert.isFalse(isOver)
  })
)
