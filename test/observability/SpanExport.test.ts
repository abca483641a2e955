/** How spans are encoded and sent: every kind of value, batches, and the bounds of what waits. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { makeTracing } from "../../src/observability/Traces.ts"
import { QUEUE_BYTES } from "../../src/observability/SpanExport.ts"
import { defaultSettings } from "../../src/Settings.ts"
import { type Collector, startCollector } from "../support/otlp/Collector.ts"
import { target } from "../support/otlp/tracing.ts"

interface Limits {
  readonly queueSize?: number
  readonly batchSize?: number
  readonly gzip?: boolean
}

type Attributes = Readonly<Record<string, unknown>>

/** Ends a span for each of `spans`, all in one turn, and sends them. */
const exported = (
  collector: Collector,
  spans: ReadonlyArray<Attributes>,
  { batchSize = 512, gzip = false, queueSize = 2_048 }: Limits = {}
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { tracing } = yield* makeTracing(defaultSettings.telemetry, "one", {
        ...target(collector.url),
        gzip,
        sampler: "always_on",
        ratio: 1,
        delayMs: 5_000,
        queueSize,
        batchSize,
        capturesContent: false
      })
      for (const [at, attributes] of spans.entries()) {
        const begun = tracing.begin({
          traceparent: undefined,
          tracestate: undefined,
          name: () => `span ${at}`,
          startedAtNanos: 1_700_000_000_000_000_001n
        })
        if (begun?._tag !== "Sampled") return assert.fail("not sampled")
        for (const [name, value] of Object.entries(attributes)) begun.span.attribute(name, value)
        begun.span.end(1_700_000_000_000_000_005n, Exit.void)
      }
    })
  )

describe("values of attributes", () => {
  const values: Attributes = {
    text: "plain",
    empty: "",
    foreign: "žluťoučký 你好 😀",
    "name žluť": "ok",
    ...Object.fromEntries([41, 42, 63, 64, 126, 127, 128, 16_383, 16_384, 70_000].map((n) => [`a${n}`, "a".repeat(n)])),
    ...Object.fromEntries([41, 42, 43, 63, 64, 5_000].map((n) => [`e${n}`, "é".repeat(n)])),
    zero: 0,
    small: 127,
    two: 128,
    large: Number.MAX_SAFE_INTEGER,
    negative: -1,
    lowest: Number.MIN_SAFE_INTEGER,
    fraction: 0.000006,
    beyond: 2 ** 60,
    minus: -0.5,
    infinite: Number.POSITIVE_INFINITY,
    yes: true,
    no: false,
    list: ["stop", "", "length"],
    none: [],
    mixed: [1, "a", true, 0.5]
  }
  it.effect("arrive as they are", () =>
    Effect.gen(function* () {
      const collector = yield* startCollector()
      yield* exported(collector, [values, { second: 2 }])
      const [first, second] = collector.spans()
      assert.deepStrictEqual(first?.attributes, values)
      assert.deepStrictEqual(second?.attributes, { second: 2 })
      assert.deepStrictEqual(
        [first?.name, first?.kind, first?.status, first?.durationNanos],
        ["span 0", "server", "ok", 4n]
      )
      assert.match(String(first?.traceId), /^[0-9a-f]{32}$/)
      assert.match(String(first?.spanId), /^[0-9a-f]{16}$/)
      assert.notStrictEqual(first?.spanId, second?.spanId)
    })
  )
})

const names = (collector: Collector) => collector.spans().map(({ name }) => name)
const emptySpans = (count: number) => Array.from({ length: count }, (): Attributes => ({}))
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `span ${at}`)

it.effect("spans are sent in batches of the configured size, in their order", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    yield* exported(collector, emptySpans(25), { batchSize: 10 })
    assert.deepStrictEqual(names(collector), numbered(25))
    assert.lengthOf(collector.headers(), 3)
    assert.strictEqual(collector.headers()[0]?.["content-type"], "application/x-protobuf")
  })
)

it.effect("a large batch is encoded in turns of the event loop, and is still one request", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    const text = "x".repeat(1_000)
    yield* exported(
      collector,
      Array.from({ length: 500 }, () => ({ text }))
    )
    assert.deepStrictEqual(names(collector), numbered(500))
    assert.lengthOf(collector.headers(), 1)
    const [headers] = collector.headers()
    assert.isAtLeast(collector.resources().length, Math.floor(Number(headers?.["content-length"]) / 40_000))
    for (const resource of collector.resources()) assert.strictEqual(resource["service.name"], "tollgate")
  })
)

it.effect("a batch is compressed where the settings say so", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    yield* exported(collector, [{ text: "word ".repeat(1_000) }], { gzip: true })
    assert.strictEqual(collector.headers()[0]?.["content-encoding"], "gzip")
    assert.isBelow(Number(collector.headers()[0]?.["content-length"]), 1_000)
  })
)

it.effect("of more spans than may wait, the further ones are dropped", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    yield* exported(collector, emptySpans(25), { queueSize: 12, batchSize: 5 })
    assert.deepStrictEqual(names(collector), numbered(12))
  })
)

it.effect("spans with long contents wait in a bounded number of bytes, and are sent in small batches", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    const long = "x".repeat(400_000)
    yield* exported(
      collector,
      Array.from({ length: 60 }, () => ({ long }))
    )
    const spans = Math.ceil(QUEUE_BYTES / long.length)
    assert.isAtMost(names(collector).length, spans)
    assert.isAtLeast(names(collector).length, spans - 1)
    for (const headers of collector.headers()) assert.isBelow(Number(headers["content-length"]), 2_000_000)
  })
)

it.effect("a share of the traces is chosen by the id, the same as by other services", () =>
  Effect.gen(function* () {
    const collector = yield* startCollector()
    const decide = (share: number) =>
      Effect.scoped(
        Effect.map(
          makeTracing(defaultSettings.telemetry, "one", {
            ...target(collector.url),
            sampler: "traceidratio",
            ratio: share,
            delayMs: 5_000,
            queueSize: 10,
            batchSize: 10,
            capturesContent: false
          }),
          ({ tracing }) =>
            [
              "0af7651916cd43dd8448eb211c80319c",
              "00000000000000000000000080000000",
              "ffffffff000000000000000000000000"
            ].map(
              (id) =>
                tracing.begin({
                  traceparent: `00-${id}-b7ad6b7169203331-00`,
                  tracestate: undefined,
                  name: () => "request",
                  startedAtNanos: 0n
                })?._tag
            )
        )
      )
    // The words of the first id fold to 0x84f2fc79, which is 51.9 % of the largest.
    assert.deepStrictEqual(yield* decide(0), ["Passing", "Passing", "Passing"])
    assert.deepStrictEqual(yield* decide(0.51), ["Passing", "Sampled", "Passing"])
    assert.deepStrictEqual(yield* decide(0.52), ["Sampled", "Sampled", "Passing"])
    assert.deepStrictEqual(yield* decide(1), ["Sampled", "Sampled", "Sampled"])
  })
)
