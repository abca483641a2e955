/**
 * A collector: accepts OTLP over HTTP on a port that the system chooses, and stores the decoded
 * exports.
 */
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { doubleOf, hexOf, type Message, messagesOf, numberOf, readMessage, textOf } from "./Protobuf.ts"

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  /** `server`, `client`, `internal`, … */
  readonly kind: string
  readonly durationNanos: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{ readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }>
  /** `unset`, `ok`, `error`. */
  readonly status: string
  readonly message: string
  readonly flags: number
}

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"]
const statuses = ["unset", "ok", "error"]

const valueOf = (any: Message): unknown => {
  if (any.has(1)) return textOf(any, 1)
  if (any.has(2)) return any.get(2)?.[0] === 1n
  if (any.has(3)) return Number(BigInt.asIntN(64, BigInt(any.get(3)?.[0]?.toString() ?? 0)))
  if (any.has(4)) return doubleOf(any.get(4)?.[0] ?? 0)
  return messagesOf(any, 5).flatMap((array) => messagesOf(array, 1).map(valueOf))
}

const attributesOf = (message: Message, field: number): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    messagesOf(message, field).map((pair) => [textOf(pair, 1), messagesOf(pair, 2).map(valueOf)[0]] as const)
  )

const spanOf = (span: Message): CollectedSpan => {
  const [status] = messagesOf(span, 15)
  const nanos = (field: number) => BigInt(span.get(field)?.[0]?.toString() ?? 0)
  return {
    traceId: hexOf(span, 1),
    spanId: hexOf(span, 2),
    parentId: hexOf(span, 4),
    name: textOf(span, 5),
    kind: kinds[numberOf(span, 6)] ?? "",
    durationNanos: nanos(8) - nanos(7),
    attributes: attributesOf(span, 9),
    events: messagesOf(span, 11).map((event) => ({ name: textOf(event, 2), attributes: attributesOf(event, 3) })),
    status: statuses[status === undefined ? 0 : numberOf(status, 3)] ?? "",
    message: status === undefined ? "" : textOf(status, 2),
    flags: numberOf(span, 16)
  }
}

export interface Collector {
  /** Without a path. */
  readonly url: string
  readonly spans: () => ReadonlyArray<CollectedSpan>
  /** Attributes of the resources that sent spans. */
  readonly resources: () => ReadonlyArray<Readonly<Record<string, unknown>>>
  /** Names of metrics. */
  readonly metrics: () => ReadonlySet<string>
  readonly headers: () => ReadonlyArray<Readonly<Record<string, unknown>>>
  /** Everything that was sent, to search for content that must not be there. */
  readonly raw: () => string
  /** Resolves once `done` holds. It is checked after every export. */
  readonly until: (done: () => boolean) => Effect.Effect<void>
}

/** Runs until the scope closes. `status`: the status of its responses. */
export const startCollector = Effect.fnUntraced(function* (status = 200) {
  const received: Array<{ readonly path: string; readonly bytes: Buffer; readonly headers: Record<string, unknown> }> =
    []
  const watchers = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => void chunks.push(chunk))
    request.on("end", () => {
      received.push({ path: request.url ?? "", bytes: Buffer.concat(chunks), headers: request.headers })
      response.writeHead(status).end()
      for (const watcher of watchers) watcher()
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
    }),
    () =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  )
  const sent = (path: string) =>
    received.filter((one) => one.path === path).flatMap(({ bytes }) => messagesOf(readMessage(bytes), 1))
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () =>
      sent("/v1/traces").flatMap((resource) =>
        messagesOf(resource, 2).flatMap((scope) => messagesOf(scope, 2).map(spanOf))
      ),
    resources: () =>
      sent("/v1/traces").flatMap((one) => messagesOf(one, 1).map((resource) => attributesOf(resource, 1))),
    metrics: () =>
      new Set(
        sent("/v1/metrics").flatMap((resource) =>
          messagesOf(resource, 2).flatMap((scope) => messagesOf(scope, 2).map((metric) => textOf(metric, 1)))
        )
      ),
    headers: () => received.map(({ headers }) => headers),
    raw: () => received.map(({ bytes }) => bytes.toString("latin1")).join("\n"),
    until: (done) =>
      Effect.callback((resume) => {
        const watcher = (): void => {
          if (!done()) return
          watchers.delete(watcher)
          resume(Effect.void)
        }
        watchers.add(watcher)
        watcher()
        return Effect.sync(() => watchers.delete(watcher))
      })
  }
  return collector
})
