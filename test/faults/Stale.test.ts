/**
 * Kept-alive connections that the provider closes as the next request is sent: the request is sent
 * on a new connection at once, and the client does not notice.
 */
import { createServer, type Server, type Socket } from "node:net"
import { type AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatBody, errorBody, streamChunks } from "../support/upstream/Bodies.ts"
import { assertFallback, healthyText } from "./answers.ts"
import { answering, behind, healthy, type Mode, modes, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const reply = (mode: Mode): string => {
  const [type, body] =
    mode === "JSON"
      ? ["application/json", JSON.stringify(chatBody({ content: healthyText, usage: healthy }))]
      : ["text/event-stream", streamChunks([healthyText], healthy).join("")]
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

type Closing = "FIN" | "RST"

/** Answers the first `answered` requests of each connection and closes it on the next. */
const closing = (mode: Mode, how: Closing, answered: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const requests: Array<number> = []
      const server: Server = createServer((socket) => {
        let count = 0
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => sockets.delete(socket))
        let text = ""
        socket.on("data", (bytes) => {
          text += bytes.toString("utf8")
          const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN)
          const bodyAt = text.indexOf("\r\n\r\n") + 4
          if (bodyAt < 4 || Buffer.byteLength(text.slice(bodyAt)) < length) return
          text = ""
          requests.push(count)
          if (count++ < answered) socket.write(reply(mode))
          else if (how === "FIN") socket.destroy()
          else socket.resetAndDestroy()
        })
      })
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
      const { port } = server.address() as AddressInfo
      return { url: `http://127.0.0.1:${port}/v1`, requests, server, sockets }
    }),
    ({ server, sockets }) =>
      Effect.promise(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise((resolve) => server.close(resolve))
      })
  )

const cases = modes.flatMap((mode) => (["FIN", "RST"] as const).map((how) => ({ mode, how })))

describe("a kept-alive connection that is closed as the request is sent", () => {
  it.live.each(cases)("costs neither time nor a fallback to a more expensive provider ($mode, $how)", ({ how, mode }) =>
    Effect.gen(function* () {
      const { requests, url } = yield* closing(mode, how, 1)
      const never = { does: { status: 500, json: errorBody("not asked") } }
      const gateway = yield* behind(upstream(), { alpha: { baseUrl: url, does: [] }, beta: never })
      for (let asked = 0; asked < 4; asked++) {
        const answer = yield* gateway.ask(mode)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(answer.content, healthyText)
        assert.deepStrictEqual(
          answer.receipt?.attempts.map(({ provider, status }) => [provider, status]),
          [["alpha", "ok"]]
        )
      }
      // Every other request meets the closed connection and gets a new one, which is not kept
      // alive.
      assert.deepStrictEqual(requests, [0, 1, 0, 0, 1, 0])
    })
  )

  it.live.each(cases)("a new connection that is closed is a failure of the provider ($mode, $how)", ({ how, mode }) =>
    Effect.gen(function* () {
      const { requests, url } = yield* closing(mode, how, 0)
      const gateway = yield* behind(upstream(), {
        alpha: { baseUrl: url, does: [] },
        beta: { does: answering(mode) }
      })
      assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: "unreachable" })
      assert.deepStrictEqual(requests, [0])
    })
  )
})
