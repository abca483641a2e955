/**
 * The server that takes connections. What Node's parser refuses is answered in the contract's form, with an id. A client that stops reading
 * what is written to its end is cut off; of a stream, http/sse/Sse does it on the way. Before the end it lets its clients go: replies say that the connection closes, and after a grace connections with nothing to do are closed.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { createServer, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import { type Duplex } from "node:stream"
import { gatewayError, Overloaded, RequestUnreadable } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { textOf } from "../errors/ErrorResponse.ts"

export interface ListenerOptions {
  readonly maxConnections: number
  /** How long a client may take nothing of an answer that is written to its end; then its connection is cut. */
  readonly stalledReaderMs: number
  /** How long connections are still taken once the end has begun. */
  readonly graceMs: number
}

interface Address {
  readonly host: string
  readonly port: number
  readonly drainTimeoutMs: number
}

/**
 * The head of an answer that began before the end does not say that its connection closes, so its client may ask once more on it: for this long
 * after the grace, and a second that Node adds. Closing at once would cross that request.
 */
const LAST_REQUEST_MS = 500

export class Listener extends Context.Service<
  Listener,
  {
    readonly server: Server
    /**
     * From now on every reply closes its connection. For the time of the grace, in which balancers notice, new connections are taken and
     * idle ones are kept, because closing one may cross a request on its way. Then idle ones are closed, and others soon after
     * their last reply. SIGINT, a person at a terminal, skips the grace.
     */
    readonly letGo: Effect.Effect<void>
  }
>()("tollgate/http/edge/Listener") {
  static readonly layer = ({ graceMs, maxConnections, stalledReaderMs }: ListenerOptions) =>
    Layer.effect(
      Listener,
      Effect.gen(function* () {
        const ids = yield* Ids
        const clock = yield* Clock.Clock
        // Keep-alive outlives the minute after which load balancers drop an idle connection, so that they never meet a closed one.
        const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 60_000 })
        server.maxConnections = maxConnections
        let isLeaving = false
        const isHurried = yield* interrupted
        const answering = new WeakMap<Duplex, ServerResponse>()

        server.on("request", ({ socket }, response) => {
          answering.set(socket, response)
          // The port opens before the program behind it is ready. A request that nothing else hears would wait for ever.
          if (server.listenerCount("request") === 1) {
            const requestId = ids.next("req", clock.currentTimeMillisUnsafe())
            const { body, status } = textOf(gatewayError(new Overloaded()), requestId)
            const headers = { "content-type": "application/json", "retry-after": "1", "x-request-id": requestId }
            return void response.writeHead(status, { ...headers, connection: "close" }).end(body)
          }
          if (isLeaving) response.setHeader("connection", "close")
          // Written to its end. Node notices what the client takes of it, and destroys the socket when that is nothing for so long.
          response.once("prefinish", () => {
            if (socket.writableLength === 0) return
            socket.setTimeout(stalledReaderMs)
            // Before Node sets how long the connection may wait for another request.
            response.prependOnceListener("finish", () => socket.setTimeout(0))
          })
        })

        server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
          const response = answering.get(socket)
          const isBusy = response !== undefined && response.headersSent && !response.writableEnded
          if (!socket.writable || isBusy || error.code === "ECONNRESET") return void socket.destroy()
          socket.end(refusal(error.code, ids.next("req", clock.currentTimeMillisUnsafe())))
        })

        return Listener.of({
          server,
          letGo: Effect.suspend(() => {
            isLeaving = true
            return Effect.andThen(
              isHurried() ? Effect.void : Effect.sleep(graceMs),
              Effect.sync(() => {
                server.keepAliveTimeout = LAST_REQUEST_MS
                server.closeIdleConnections()
              })
            )
          })
        })
      })
    )

  /** The server at work. `drainTimeoutMs`: how long its end waits for what runs. */
  static readonly layerHttp = ({ drainTimeoutMs, host, port }: Address) =>
    Layer.unwrap(
      Effect.map(Listener, ({ server }) =>
        NodeHttpServer.layer(() => server, {
          host,
          port,
          gracefulShutdownTimeout: Duration.millis(drainTimeoutMs)
        })
      )
    )
}

/** Whether this process was told to end by a SIGINT. */
const interrupted = Effect.gen(function* () {
  let isInterrupted = false
  const onInterrupt = (): void => void (isInterrupted = true)
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGINT", onInterrupt)),
    () => Effect.sync(() => process.off("SIGINT", onInterrupt))
  )
  return () => isInterrupted
})

const faults: Readonly<Record<string, RequestUnreadable["fault"]>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "too_slow"
}

/** A whole response, for a request that there is none of. */
const refusal = (code: string | undefined, requestId: string): string => {
  const { body, status } = textOf(
    gatewayError(new RequestUnreadable({ fault: faults[code ?? ""] ?? "malformed" })),
    requestId
  )
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    "x-content-type-options: nosniff",
    "connection: close",
    "",
    body
  ].join("\r\n")
}
