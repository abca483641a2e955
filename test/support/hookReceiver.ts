/** A server that receives webhooks: what was posted to it, and the status that it answers. */
import { Effect } from "effect"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { type AddressInfo } from "node:net"

export interface Received {
  /** The event's id, of the header. */
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The status that it was answered with. */
  readonly status: number
}

/** It runs until the scope closes. It answers 204 until `state.status` is changed. */
export const hookReceiver = Effect.gen(function* () {
  const received: Array<Received> = []
  const state = { status: 204 }
  const server = createServer((request, response) => {
    const { headers } = request
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      received.push({ id: String(headers["x-tollgate-delivery"]), headers, body, status: state.status })
      response.writeHead(state.status).end()
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  return { received, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
})
