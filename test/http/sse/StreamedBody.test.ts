/** Pieces of an answer as they arrive at a client that looks at the bytes. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { StreamedBody } from "../../../src/http/sse/StreamedBody.ts"

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A connection to a server that answers as it is told. Both end with the test. */
const connected = (answer: Answer) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(answer).listen(0, "127.0.0.1")
      await once(server, "listening")
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
      await once(socket, "connect")
      return { server, socket }
    }),
    ({ server, socket }) =>
      Effect.sync(() => {
        socket.destroy()
        server.closeAllConnections()
        server.close()
      })
  )

/** What the server says until it closes the connection, or until `enough`. */
const heard = (socket: Socket, enough: (text: string) => boolean = () => false) =>
  Effect.callback<string>((resume) => {
    let text = ""
    socket.setEncoding("utf8")
    socket.on("data", (piece: string) => {
      text += piece
      if (enough(text)) resume(Effect.succeed(text))
    })
    socket.on("close", () => resume(Effect.succeed(text)))
    socket.resume()
  })

const bodyOf = (text: string) => text.slice(text.indexOf("\r\n\r\n") + 4)
const pieces = ["plain", "größer", "", "日本"]
const writeAll = (response: ServerResponse): void => {
  const body = new StreamedBody(response)
  for (const piece of pieces) assert.isTrue(body.write(piece))
  body.writeTogether("last")
  response.end()
}

it.live("each piece is a chunk of its length in bytes, and nothing is none", () =>
  Effect.gen(function* () {
    const { socket } = yield* connected((_, response) => writeAll(response))
    socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    const text = yield* heard(socket)
    assert.include(text, "Transfer-Encoding: chunked")
    assert.strictEqual(bodyOf(text), "5\r\nplain\r\n8\r\ngrößer\r\n6\r\n日本\r\n4\r\nlast\r\n0\r\n\r\n")
  })
)

it.live("a client that knows no chunks gets none", () =>
  Effect.gen(function* () {
    const { socket } = yield* connected((_, response) => writeAll(response))
    socket.write("GET / HTTP/1.0\r\n\r\n")
    assert.strictEqual(bodyOf(yield* heard(socket)), "plaingrößer日本last")
  })
)

it.live("an answer that has to wait for the one before it comes after it", () =>
  Effect.gen(function* () {
    const waiting: Array<ServerResponse> = []
    const { socket } = yield* connected((request, response) => {
      if (request.url === "/first") return void waiting.push(response)
      writeAll(response)
      waiting[0]?.end("first")
    })
    socket.write("GET /first HTTP/1.1\r\nhost: a\r\n\r\nGET /second HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    const [, first = "", second = ""] = (yield* heard(socket)).split("HTTP/1.1 200 OK")
    assert.strictEqual(bodyOf(first), "first")
    assert.strictEqual(bodyOf(second), "5\r\nplain\r\n8\r\ngrößer\r\n6\r\n日本\r\n4\r\nlast\r\n0\r\n\r\n")
  })
)

it.live("a client that does not read fills it; it has room again once the client reads", () =>
  Effect.gen(function* () {
    const made = Promise.withResolvers<StreamedBody>()
    const { socket } = yield* connected((_, response) => made.resolve(new StreamedBody(response)))
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    const body = yield* Effect.promise(() => made.promise)
    assert.isFalse(body.isFull)
    // The head goes out before the first piece that fills anything.
    body.write("begin")
    yield* heard(socket, (text) => text.includes("begin"))
    socket.pause()
    const piece = "x".repeat(65_536)
    while (body.write(piece)) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    assert.isTrue(body.isFull)
    const drained = yield* Effect.forkChild(body.drained, { startImmediately: true })
    assert.isUndefined(drained.pollUnsafe())
    socket.resume()
    yield* Fiber.join(drained)
    assert.isFalse(body.isFull)
    assert.isTrue(body.write("more"))
  })
)
