/**
 * Sends spans to a collector by OTLP over HTTP, as protobuf, in batches. A span is encoded when it
 * ends, so a batch is ready when it is sent, and no turn of the event loop encodes many spans. One
 * batch is sent at a time. The spans that wait are bounded in number and in bytes; further ones are
 * dropped. An unavailable collector loses spans, never requests, and is logged once.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Fiber, Latch, Layer, Option, Redacted, Schedule, type Scope } from "effect"
import { HttpClientRequest } from "effect/http"
import * as HttpClient from "effect/http/HttpClient"
import { type SettingsShape } from "../Settings.ts"
import { ProtobufWriter } from "./Protobuf.ts"
import { type RecordedSpan, writeAttributes, writeSpan } from "./RecordedSpan.ts"

type TraceSettings = NonNullable<SettingsShape["telemetry"]["traces"]>

/** A batch is sent at this size, however few spans it has. */
const BATCH_BYTES = 1_048_576
/** Further spans are dropped while this much waits. */
export const QUEUE_BYTES = 16 * BATCH_BYTES
/** How long the end of the process waits for the last spans to be sent. */
const SHUTDOWN_LIMIT = "3 seconds"

/** Attempts after the first, within the time limit of an export. A `Retry-After` is honoured. */
const RETRIES = 5
const retrySchedule = Schedule.jittered(Schedule.exponential("1 second", 1.5))

const SCOPE = "tollgate"

interface Batch {
  readonly spans: number
  readonly bytes: Buffer
}

/**
 * Begins to export. The result takes a span that has ended. Closing the scope sends what waits.
 * `resource`: attributes of this process.
 */
export const exportSpans = Effect.fnUntraced(function* (
  resource: Readonly<Record<string, string>>,
  settings: TraceSettings
): Effect.fn.Return<(span: RecordedSpan) => void, never, Scope.Scope> {
  const { batchSize, delayMs, queueSize } = settings
  const send = yield* sender(settings, resource)
  const open = new ProtobufWriter()
  const full: Array<Batch> = []
  const hasFull = Latch.makeUnsafe(false)
  let inOpen = 0
  let isFailing = false
  const queue = { spans: 0, bytes: 0, isEnding: false }

  const closeBatch = (): void => {
    if (inOpen === 0) return
    full.push({ spans: inOpen, bytes: open.take() })
    inOpen = 0
  }

  const add = (span: RecordedSpan): void => {
    if (queue.spans >= queueSize || queue.bytes >= QUEUE_BYTES) return
    const before = open.length
    writeSpan(open, span)
    queue.spans++
    queue.bytes += open.length - before
    if (++inOpen < batchSize && open.length < BATCH_BYTES) return
    closeBatch()
    hasFull.openUnsafe()
  }

  const report = (hasFailed: boolean): Effect.Effect<void> => {
    if (hasFailed === isFailing) return Effect.void
    isFailing = hasFailed
    return hasFailed
      ? Effect.logWarning("the collector does not accept spans; spans are lost until it does")
      : Effect.logInfo("the collector accepts spans again")
  }

  const sendFull = Effect.gen(function* () {
    for (let batch = full.shift(); batch !== undefined; batch = full.shift()) {
      queue.spans -= batch.spans
      queue.bytes -= batch.bytes.length
      yield* report(!(yield* send(batch.bytes)))
    }
  })

  const loop = Effect.gen(function* () {
    while (!queue.isEnding) {
      const isFull = yield* Effect.timeoutOption(hasFull.await, delayMs)
      hasFull.closeUnsafe()
      if (Option.isNone(isFull)) closeBatch()
      yield* sendFull
    }
    closeBatch()
    yield* sendFull
  })
  const running = yield* Effect.forkScoped(loop)
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      queue.isEnding = true
      hasFull.openUnsafe()
      return Effect.timeoutOption(Effect.interruptible(Fiber.await(running)), SHUTDOWN_LIMIT)
    })
  )
  return add
})

/** Sends one batch. True: the collector has accepted it. */
const sender = Effect.fnUntraced(function* (
  { gzip, headers, timeoutMs, url }: TraceSettings,
  resource: Readonly<Record<string, string>>
) {
  // undici's client follows no redirects, so the headers go to no other host.
  const services = yield* Layer.build(NodeHttpClient.layerUndici)
  const client = Context.get(services, HttpClient.HttpClient).pipe(
    HttpClient.filterStatusOk,
    HttpClient.retryTransient({ schedule: retrySchedule, times: RETRIES })
  )
  const request = HttpClientRequest.post(url, {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
  })
  const about = encodedResource(resource)
  return (spans: Buffer): Effect.Effect<boolean> => {
    const whole = HttpClientRequest.bodyUint8Array(request, requestOf(about, spans), "application/x-protobuf")
    return (gzip ? HttpClientRequest.compressBody(whole, "gzip") : Effect.succeed(whole)).pipe(
      Effect.flatMap(client.execute),
      // Reads the body to its end, so that the connection is kept.
      Effect.flatMap((response) => response.arrayBuffer),
      Effect.timeout(timeoutMs),
      Effect.withTracerEnabled(false),
      Effect.matchCause({ onSuccess: () => true, onFailure: () => false })
    )
  }
})

/** The members `resource` and `scope` of OTLP, encoded. */
interface About {
  readonly resource: Buffer
  readonly scope: Buffer
}

const encodedResource = (attributes: Readonly<Record<string, string>>): About => {
  const out = new ProtobufWriter()
  const resource = out.begin(1)
  writeAttributes(out, 1, attributes)
  out.end(resource)
  const about = out.take()
  const scope = out.begin(1)
  out.text(1, SCOPE)
  out.end(scope)
  return { resource: about, scope: out.take() }
}

/** A whole request of OTLP with these encoded spans. */
const requestOf = ({ resource, scope }: About, spans: Buffer): Buffer => {
  const out = new ProtobufWriter()
  const resourceSpans = out.begin(1)
  out.raw(resource)
  const scopeSpans = out.begin(2)
  out.raw(scope)
  out.raw(spans)
  out.end(scopeSpans)
  out.end(resourceSpans)
  return out.take()
}
