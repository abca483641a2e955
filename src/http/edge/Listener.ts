/**
 * The server that accepts connections. Requests that Node's parser rejects get an error in the
 * contract's form, with an id. A client that stops reading a complete response is disconnected;
 * http/sse/Sse does the same for streams. At shutdown, responses announce that the connection
 * closes, and idle connections are closed after a grace period.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { createServer, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import { type Duplex } from "node:stream"
import { gatewayError, Overloaded, RequestUnreadable } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { listenFault } from "./ListenFault.ts"
import { textOf } from "../errors/ErrorResponse.ts"

export interface ListenerOptions {
  readonly maxConnections: number
  /** How long a client may read nothing of a complete response before it is disconnected. */
  readonly stalledReaderMs: number
  /** How long connections are accepted after the shutdown began. */
  readonly graceMs: number
}

interface Address {
  readonly host: string
  readonly port: number
  readonly drainTimeoutMs: number
}

/**
 * A response whose headers were sent before the shutdown does not announce the end of its
 * connection, so its client may send one more request. Such connections stay open for this long
 * after the grace period, plus a second that Node adds. Closing them at once could cross that
 * request.
 */
const LAST_REQUEST_MS = 500

export class Listener extends Context.Service<
  Listener,
  {
    readonly server: Server
    /**
     * Begins the shutdown. From now on every response closes its connection. During the grace
     * period, in which load balancers notice, new connections are accepted and idle ones stay open,
     * because closing one may cross a request. Then idle connections are closed, and the others
     * soon after their last response. SIGINT, sent by a person at a terminal, skips the grace
     * period.
     */
    readonly shutdown: Effect.Effect<void>
  }
>()("tollgate/http/edge/Listener") {
  static readonly layer = ({ graceMs, maxConnections, stalledReaderMs }: ListenerOptions) =>
    Layer.effect(
      Listener,
      Effect.gen(function* () {
        const ids = yield* Ids
        const clock = yield* Clock.Clock
        // Keep-alive is longer than the minute after which load balancers drop idle connections, so
        // that they never reuse a closed one.
        const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 60_000 })
        server.maxConnections = maxConnections
        let isLeaving = false
        const wasInterrupted = yield* watchInterrupt
        const answering = new WeakMap<Duplex, ServerResponse>()

        server.on("request", ({ socket }, response) => {
          answering.set(socket, response)
          // The port opens before the program is ready. Without this response the request would
          // hang.
          if (server.listenerCount("request") === 1) {
            const requestId = ids.next("req", clock.currentTimeMillisUnsafe())
            const { body, status } = textOf(gatewayError(new Overloaded()), requestId)
            const headers = { "content-type": "application/json", "retry-after": "1", "x-request-id": requestId }
            return void response.writeHead(status, { ...headers, connection: "close" }).end(body)
          }
          if (isLeaving) response.setHeader("connection", "close")
          // The response is complete. Node now destroys the socket when the client reads nothing
          // for this long.
          response.on("prefinish", () => {
            if (socket.writableLength === 0) return
            socket.setTimeout(stalledReaderMs)
            // Runs before Node sets the keep-alive timeout of the connection.
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
          shutdown: Effect.suspend(() => {
            isLeaving = true
            return Effect.andThen(
              wasInterrupted() ? Effect.void : Effect.sleep(graceMs),
              Effect.sync(() => {
                server.keepAliveTimeout = LAST_REQUEST_MS
                server.closeIdleConnections()
              })
            )
          })
        })
      })
    )

  /** The running server. `drainTimeoutMs`: how long the shutdown waits for running requests. */
  static readonly layerHttp = ({ drainTimeoutMs, host, port }: Address) =>
    Layer.unwrap(
      Effect.map(Listener, ({ server }) =>
        NodeHttpServer.layer(() => server, {
          host,
          port,
          gracefulShutdownTimeout: Duration.millis(drainTimeoutMs)
        }).pipe(
          Layer.catchTag("ServeError", (error) =>
            Layer.effectContext(Effect.fail(listenFault({ host, port, setting: "TOLLGATE_PORT" })(error)))
          )
        )
      )
    )
}

/** Tells whether this process has received a SIGINT. */
const watchInterrupt = Effect.gen(function* () {
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

/** A complete response in text, because there is no response object for an unparsable request. */
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
