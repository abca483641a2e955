/**
 * A provider behind TLS that speaks HTTP/2, and HTTP/1.1 to clients that do not ask for it. The
 * model's name selects its behaviour: `steady` answers, `silent` never does, `halting` hangs after
 * its first token.
 */
import { Effect } from "effect"
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2"
import { type AddressInfo } from "node:net"
import { type SelfSigned } from "../support/selfSigned.ts"
import { chatBody, chunkBody, sse, streamChunks } from "../support/upstream/Bodies.ts"
import { healthyText } from "./answers.ts"
import { healthy } from "./gateway.ts"

export interface Call {
  readonly model: string
  /** `2.0` or `1.1`. */
  readonly version: string
  /** Calls with the same port shared a connection. */
  readonly clientPort: number | undefined
  /** Unix milliseconds; null while the call is running. */
  endedAtMs: number | null
}

export interface SecureServer {
  readonly url: string
  readonly calls: ReadonlyArray<Call>
  /** Waits until a call satisfies `predicate`. */
  readonly called: (predicate: (call: Call) => boolean) => Effect.Effect<Call>
  /** Closes every HTTP/2 connection. */
  readonly cut: Effect.Effect<void>
}

/** Listens on a port that the system chooses, until the scope closes. */
export const secureServer = (identity: SelfSigned) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const calls: Array<Call> = []
        const watchers = new Set<() => void>()
        const changed = (): void => watchers.forEach((watcher) => watcher())
        const sessions = new Set<{ destroy: () => void }>()
        const server = createSecureServer({ ...identity, allowHTTP1: true }, (request, response) => {
          void receive(request).then(({ model, stream }) => {
            const call: Call = {
              model,
              version: request.httpVersion,
              clientPort: request.socket.remotePort,
              endedAtMs: null
            }
            calls.push(call)
            response.on("close", () => {
              call.endedAtMs = Date.now()
              changed()
            })
            changed()
            answer(model, stream, response)
          })
        })
        server.on("session", (session) => {
          sessions.add(session)
          session.on("close", () => sessions.delete(session))
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, sessions, calls, watchers, port: (server.address() as AddressInfo).port }
      }),
      ({ server, sessions }) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              for (const session of sessions) session.destroy()
            })
        )
    ),
    ({ calls, port, sessions, watchers }): SecureServer => ({
      url: `https://127.0.0.1:${port}/v1`,
      calls,
      cut: Effect.sync(() => sessions.forEach((session) => session.destroy())),
      called: (predicate) =>
        Effect.callback<Call>((resume) => {
          const watcher = (): void => {
            const found = calls.find(predicate)
            if (found === undefined) return
            watchers.delete(watcher)
            resume(Effect.succeed(found))
          }
          watchers.add(watcher)
          watcher()
          return Effect.sync(() => watchers.delete(watcher))
        })
    })
  )

const receive = async (request: Http2ServerRequest): Promise<{ readonly model: string; readonly stream: boolean }> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString("utf8"))
}

const answer = (model: string, stream: boolean, response: Http2ServerResponse): void => {
  if (model === "silent") return
  response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" })
  if (model !== "steady") {
    response.write(sse(chunkBody({ role: "assistant", content: "Hel" })))
  } else if (stream) response.end(streamChunks([healthyText], healthy).join(""))
  else response.end(JSON.stringify(chatBody({ content: healthyText, usage: healthy })))
}
