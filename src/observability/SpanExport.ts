/**
 * Sends spans to a collector by OTLP over HTTP, as protobuf, in batches. One batch is sent at a
 * time. It is encoded in turns, so that no turn of the event loop encodes many spans. The spans
 * that wait are bounded in number and in bytes; further ones are dropped. An unavailable collector
 * loses spans, never requests, and is logged once. Effect's OtlpExporter has none of these bounds:
 * it keeps any number of bytes, encodes a batch in one turn, and sends several at a time.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Bytes, Context, Effect, Fiber, Latch, Layer, Redacted, Schedule, type Scope } from "effect"
import { HttpClientRequest } from "effect/http"
import * as HttpClient from "effect/http/HttpClient"
import { type Resource } from "effect/observability/OtlpResource"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { type SettingsShape } from "../Settings.ts"
import { bytesOfSpan, type OnEnd, type OtlpSpan, otlpSpan } from "./RecordedSpan.ts"

type TraceSettings = NonNullable<SettingsShape["telemetry"]["traces"]>

/** A batch is sent at this size, however few spans it has. */
const BATCH_BYTES = 1_048_576
/** Further spans are dropped while this much waits. */
export const QUEUE_BYTES = 16 * BATCH_BYTES
/** One turn of the event loop encodes this much, and at least one span. */
const TURN_BYTES = 32_768
/** How long the end of the process waits for the last spans to be sent. */
const SHUTDOWN_LIMIT = "3 seconds"

/** Attempts after the first, within the time limit of an export. A `Retry-After` is honoured. */
const RETRIES = 5
const retrySchedule = Schedule.jittered(Schedule.exponential("1 second", 1.5))

const scope = { name: "tollgate" }

/** A span and its estimated bytes. */
interface Waiting {
  readonly span: OtlpSpan
  readonly bytes: number
}

/**
 * Begins to export. The result takes a span that has ended. Closing the scope sends what waits.
 * `resource`: this process.
 */
export const exportSpans = Effect.fnUntraced(function* (
  resource: Resource,
  settings: TraceSettings
): Effect.fn.Return<OnEnd, never, Scope.Scope> {
  const { batchSize, delayMs, queueSize } = settings
  const send = yield* sender(settings, resource)
  const waiting: Array<Waiting> = []
  const hasBatch = Latch.makeUnsafe(false)
  const queue = { bytes: 0, isEnding: false }
  let isFailing = false

  const isBatch = (): boolean => waiting.length >= batchSize || queue.bytes >= BATCH_BYTES

  const add: OnEnd = (recorded, status) => {
    if (waiting.length >= queueSize || queue.bytes >= QUEUE_BYTES) return
    const span = otlpSpan(recorded, status)
    const bytes = bytesOfSpan(span)
    waiting.push({ span, bytes })
    queue.bytes += bytes
    if (isBatch()) hasBatch.openUnsafe()
  }

  const report = (hasFailed: boolean): Effect.Effect<void> => {
    if (hasFailed === isFailing) return Effect.void
    isFailing = hasFailed
    return hasFailed
      ? Effect.logWarning("the collector does not accept spans; spans are lost until it does")
      : Effect.logInfo("the collector accepts spans again")
  }

  const sendBatch = Effect.suspend(() => {
    const batch = takeFirst(waiting, BATCH_BYTES, batchSize)
    for (const { bytes } of batch) queue.bytes -= bytes
    return batch.length === 0 ? Effect.void : Effect.flatMap(send(batch), (isAccepted) => report(!isAccepted))
  })

  const loop = Effect.gen(function* () {
    while (!queue.isEnding) {
      yield* Effect.timeoutOption(hasBatch.await, delayMs)
      hasBatch.closeUnsafe()
      do yield* sendBatch
      while (isBatch())
    }
    while (waiting.length > 0) yield* sendBatch
  })
  const running = yield* Effect.forkScoped(loop)
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      queue.isEnding = true
      hasBatch.openUnsafe()
      return Effect.timeoutOption(Effect.interruptible(Fiber.await(running)), SHUTDOWN_LIMIT)
    })
  )
  return add
})

/** Removes the first elements: at most `spans`, and no more once they have this many bytes. */
const takeFirst = (from: Array<Waiting>, bytes: number, spans = from.length): Array<Waiting> => {
  let left = bytes
  const end = from.findIndex((one, at) => {
    if (at >= spans || left <= 0) return true
    left -= one.bytes
    return false
  })
  return from.splice(0, end === -1 ? from.length : end)
}

/** Sends one batch. True: the collector has accepted it. */
const sender = Effect.fnUntraced(function* ({ gzip, headers, timeoutMs, url }: TraceSettings, resource: Resource) {
  // undici's client follows no redirects, so the headers go to no other host.
  const services = yield* Layer.build(Layer.merge(NodeHttpClient.layerUndici, OtlpSerialization.layerProtobuf))
  const { traces } = Context.get(services, OtlpSerialization.OtlpSerialization)
  const client = Context.get(services, HttpClient.HttpClient).pipe(
    HttpClient.filterStatusOk,
    HttpClient.retryTransient({ schedule: retrySchedule, times: RETRIES })
  )
  const request = HttpClientRequest.post(url, {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
  })

  /** Its parts may be joined: all that a request of OTLP has is a repeated field. */
  const encoded = Effect.fnUntraced(function* (batch: Array<Waiting>) {
    const parts: Array<Uint8Array> = []
    while (batch.length > 0) {
      const spans = takeFirst(batch, TURN_BYTES).map(({ span }) => span)
      const body = traces({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] })
      if (body._tag === "Uint8Array") parts.push(body.body)
      yield* Effect.yieldNow
    }
    return HttpClientRequest.bodyUint8Array(request, Bytes.concat(parts), "application/x-protobuf")
  })

  return (batch: Array<Waiting>): Effect.Effect<boolean> =>
    encoded(batch).pipe(
      Effect.flatMap((whole) => (gzip ? HttpClientRequest.compressBody(whole, "gzip") : Effect.succeed(whole))),
      Effect.flatMap(client.execute),
      // Reads the body to its end, so that the connection is kept.
      Effect.flatMap((response) => response.arrayBuffer),
      Effect.timeout(timeoutMs),
      Effect.withTracerEnabled(false),
      Effect.matchCause({ onSuccess: () => true, onFailure: () => false })
    )
})
