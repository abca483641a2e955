/**
 * Providers that send malformed answers, in every dialect and mode: whole, streamed, and collected
 * from a stream. A client never gets an empty or damaged answer as a good one. There is one
 * generation, and it records the failure.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatSurface, type Surface, surfaces } from "../support/surfaces.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback, healthyText } from "./answers.ts"
import { answering, behindOn, type Member, type Mode, type Reply, useUpstream } from "./gateway.ts"
import { deepMember, streaming, TOKENS, type DialectBytes, dialectBytes, whole } from "./lies.ts"

const upstream = useUpstream()

/** `mix`: the client asks for JSON and the provider is asked for a stream. */
type Way = "JSON" | "stream" | "mix"
type Dialect = keyof typeof dialectBytes

const dialects: ReadonlyArray<Dialect> = ["openai", "responses", "anthropic", "gemini", "bedrock"]

const modeOf = (way: Way): Mode => (way === "stream" ? "stream" : "JSON")

const spoken = (dialect: Dialect): Partial<Member> =>
  dialect === "responses" ? { dialect: "openai", api: "responses" } : { dialect }

/** Asks `alpha`, which sends the malformed answer, with `beta` as the fallback. */
const ask = Effect.fnUntraced(function* (
  dialect: Dialect,
  way: Way,
  does: Behaviour,
  more: Partial<Record<"alpha" | "beta", Partial<Member>>> = {},
  surface: Surface = chatSurface
) {
  const mix = way === "mix" ? { maxCompletionTokens: null, timeouts: { firstTokenMs: 1_000 } } : {}
  const gateway = yield* behindOn(surface)(upstream(), {
    alpha: { does, ...spoken(dialect), ...mix, ...more.alpha },
    beta: { does: answering(modeOf(way)), ...more.beta }
  })
  const reply = yield* gateway.ask(modeOf(way))
  assert.lengthOf(yield* gateway.receipts, 1)
  // In any case: a charged answer is not empty.
  if (reply.status === 200 && reply.error === undefined) assert.notStrictEqual(reply.content, "")
  const [call] = yield* gateway.calls("alpha")
  const isStream = call?.path.includes("stream") === true || call?.rawBody.includes('"stream":true') === true
  assert.strictEqual(isStream, way !== "JSON")
  return reply
})

interface Lie {
  /** The behaviour before anything reached the client. */
  readonly before?: (bytes: DialectBytes) => Behaviour
  /** The behaviour after a text. */
  readonly after?: (bytes: DialectBytes) => Behaviour
  /** The whole reply. */
  readonly inJson?: (bytes: DialectBytes) => Behaviour
  readonly only?: Dialect
}

const choices = (...members: ReadonlyArray<object>): string =>
  JSON.stringify({ choices: members, usage: { prompt_tokens: 9, completion_tokens: TOKENS } })
const event = (...members: ReadonlyArray<object>): string => `data: ${choices(...members)}\n\n`
const failed = { finish_reason: "error", error: { code: 502, message: "provider disconnected" } }

const lies: Readonly<Record<string, Lie>> = {
  "a torn chunk": {
    before: (bytes) => streaming(bytes, [...bytes.begin, bytes.torn, bytes.said("to eat"), ...bytes.end]),
    after: (bytes) =>
      streaming(bytes, [...bytes.begin, bytes.said("Hel"), bytes.torn, bytes.said("to eat"), ...bytes.end])
  },
  "an error event": {
    before: (bytes) => streaming(bytes, [...bytes.begin, bytes.error, ...bytes.end]),
    after: (bytes) => streaming(bytes, [...bytes.begin, bytes.said("Hel"), bytes.error, ...bytes.end])
  },
  "JSON nested 20,000 deep": {
    before: (bytes) => streaming(bytes, [...bytes.begin, bytes.deep(5_000), ...bytes.end]),
    after: (bytes) => streaming(bytes, [...bytes.begin, bytes.said("Hel"), bytes.deep(5_000), ...bytes.end]),
    inJson: (bytes) => whole(bytes.whole("hi", deepMember(20_000)))
  },
  "tokens that are reported without a text": {
    before: (bytes) => streaming(bytes, [...bytes.begin, ...bytes.end]),
    inJson: (bytes) => whole(bytes.whole(""))
  },
  "a text that is a number": {
    before: (bytes) => streaming(bytes, [...bytes.begin, bytes.said(5), ...bytes.end]),
    after: (bytes) => streaming(bytes, [...bytes.begin, bytes.said("Hel"), bytes.said(5), ...bytes.end]),
    inJson: (bytes) => whole(bytes.whole(5))
  },
  "a text that is an object": {
    before: (bytes) => streaming(bytes, [...bytes.begin, bytes.said({ a: 1 }), ...bytes.end]),
    inJson: (bytes) => whole(bytes.whole({ a: 1 }))
  },
  "a failure inside a choice": {
    only: "openai",
    before: (bytes) => streaming(bytes, [event({ index: 0, delta: { content: "" }, ...failed }), ...bytes.end]),
    after: (bytes) =>
      streaming(bytes, [bytes.said("Hel"), event({ index: 0, delta: { content: "" }, ...failed }), ...bytes.end]),
    inJson: () => whole(choices({ index: 0, message: { role: "assistant", content: "" }, ...failed }))
  },
  "a finish reason that is a failure": {
    only: "openai",
    before: (bytes) => streaming(bytes, [event({ index: 0, delta: {}, finish_reason: "error" }), ...bytes.end]),
    after: (bytes) => streaming(bytes, [bytes.said("Hel"), event({ index: 0, delta: {}, finish_reason: "error" })]),
    inJson: () => whole(choices({ index: 0, message: { content: "Hel" }, finish_reason: "error" }))
  }
}

const rows = dialects.flatMap((dialect) =>
  Object.entries(lies).flatMap(([name, lie]) =>
    (["JSON", "stream", "mix"] as const).flatMap((way) => {
      const does = way === "JSON" ? lie.inJson : lie.before
      return does === undefined || (lie.only ?? dialect) !== dialect ? [] : [{ dialect, name, way, does }]
    })
  )
)
const later = dialects.flatMap((dialect) =>
  Object.entries(lies).flatMap(([name, { after, only = dialect }]) =>
    after === undefined || only !== dialect ? [] : [{ dialect, name, does: after }]
  )
)

describe("before the first token: the fallback answers", () => {
  it.live.each(rows)("$dialect, $way: $name", ({ dialect, does, way }) =>
    Effect.gen(function* () {
      assertFallback(modeOf(way), yield* ask(dialect, way, does(dialectBytes[dialect])), { status: "error" })
    })
  )
})

const assertBroken = (reply: Reply) => {
  assert.strictEqual(reply.status, 200)
  assert.strictEqual(reply.content, "Hel")
  assert.deepStrictEqual(reply.finishReasons, ["error"])
  assert.strictEqual(reply.error?.type, "provider_error")
  assert.isTrue(reply.isDone)
  assert.strictEqual(reply.receipt?.error_type, "provider_error")
}

describe("after a text", () => {
  const onEach = later.flatMap((lie) => surfaces.map((surface) => ({ ...lie, surface })))

  it.live.each(onEach)("$surface.name, $dialect: $name ends the stream with its error", ({ dialect, does, surface }) =>
    Effect.gen(function* () {
      assertBroken(yield* ask(dialect, "stream", does(dialectBytes[dialect]), {}, surface))
    })
  )

  it.live.each(onEach)("$surface.name, $dialect: $name: another continues", ({ dialect, does, surface }) =>
    Effect.gen(function* () {
      const beta = { does: answering("stream", "lo from the other side"), prefill: true }
      const reply = yield* ask(dialect, "stream", does(dialectBytes[dialect]), { beta }, surface)
      assert.isUndefined(reply.error)
      assert.strictEqual(reply.content, healthyText)
      assert.deepStrictEqual(reply.finishReasons, ["stop"])
      assert.deepInclude(reply.receipt?.attempts[0], { provider: "alpha", status: "error" })
    })
  )

  it.live.each(later)("$dialect: $name makes a collected answer fall back", ({ dialect, does }) =>
    Effect.gen(function* () {
      assertFallback("JSON", yield* ask(dialect, "mix", does(dialectBytes[dialect])), { status: "error" })
    })
  )
})

describe("answers that are read as sent", () => {
  const message = { role: "assistant", content: healthyText }
  const forms: Readonly<Record<string, Partial<Record<Way, Behaviour>>>> = {
    "a whole reply as the only event": {
      stream: { chunks: [event({ index: 0, message, finish_reason: "stop" }), "data: [DONE]\n\n"] },
      mix: { chunks: [event({ index: 0, message, finish_reason: "stop" }), "data: [DONE]\n\n"] }
    },
    "an empty message next to each delta": {
      stream: { chunks: [event({ index: 0, delta: message, message: null, finish_reason: "stop" })] },
      mix: { chunks: [event({ index: 0, delta: message, message: null, finish_reason: "stop" })] }
    },
    "a bare text in a whole reply": { JSON: whole(choices({ index: 0, text: healthyText, finish_reason: "stop" })) },
    "a delta in a whole reply": { JSON: whole(choices({ index: 0, delta: message, finish_reason: "stop" })) }
  }
  const cases = Object.entries(forms).flatMap(([name, ways]) =>
    Object.entries(ways).map(([way, does]) => ({ name, way: way as Way, does }))
  )
  it.live.each(cases)("$name ($way)", ({ does, way }) =>
    Effect.gen(function* () {
      const reply = yield* ask("openai", way, does)
      assert.strictEqual(reply.content, healthyText)
      assert.deepStrictEqual(reply.finishReasons, ["stop"])
      assert.isUndefined(reply.error)
      assert.strictEqual(reply.receipt?.provider, "alpha")
    })
  )
})

describe("refusals", () => {
  const raw = (status: string, headers: ReadonlyArray<string>, body: string): Behaviour => ({
    raw: true,
    chunks: [`HTTP/1.1 ${status}\r\n${headers.join("\r\n")}\r\nconnection: close\r\n\r\n${body}`]
  })
  const ways = dialects.flatMap((dialect) => (["JSON", "stream", "mix"] as const).map((way) => ({ dialect, way })))

  it.live.each(ways)("$dialect, $way: with two Retry-After headers", ({ dialect, way }) =>
    Effect.gen(function* () {
      const does = raw("429 Too Many Requests", ["retry-after: 1", "retry-after: 1e999"], `{"message":"slow down"}`)
      const failed = { status: "error", error_type: "rate_limited", http_status: 429 }
      assertFallback(modeOf(way), yield* ask(dialect, way, does), failed)
    })
  )

  it.live.each(ways)("$dialect, $way: nested 20,000 deep, as the provider's fault", ({ dialect, way }) =>
    Effect.gen(function* () {
      const does: Behaviour = { status: 500, body: `{"error":${`{"error":`.repeat(20_000)}1${"}".repeat(20_001)}` }
      assertFallback(modeOf(way), yield* ask(dialect, way, does), { status: "error", error_type: "server_error" })
    })
  )

  it.live.each(ways)("$dialect, $way: in plain text, as the client's error", ({ dialect, way }) =>
    Effect.gen(function* () {
      const does: Behaviour = { status: 400, body: "prompt is too long: 9 tokens > 8 maximum\n" }
      const reply = yield* ask(dialect, way, does)
      assert.strictEqual(reply.status, 400, reply.text)
      assert.strictEqual(reply.error?.type, "context_length_exceeded")
      assert.strictEqual(reply.receipt?.cost.billed_usd ?? 0, 0)
    })
  )
})

describe("alive without tokens", () => {
  it.live.each(dialects)("%s: a stream without tokens times out after total_ms", (dialect) =>
    Effect.gen(function* () {
      const bytes: DialectBytes = dialectBytes[dialect]
      const pings = Array.from({ length: 40 }, () => [bytes.said(""), { waitMs: 250 }]).flat()
      const does = streaming(bytes, [...bytes.begin, bytes.said("Hel"), ...pings], "hang")
      const reply = yield* ask(dialect, "stream", does, { alpha: { timeouts: { totalMs: 1_000 } } })
      assert.strictEqual(reply.content, "Hel")
      assert.deepStrictEqual(reply.finishReasons, ["error"])
      assert.strictEqual(reply.error?.type, "provider_timeout")
      assert.isBelow(reply.tookMs, 8_000)
    })
  )
})

describe("alive after the finish reason", () => {
  const cases = dialects.flatMap((dialect) => (["stream", "mix"] as const).map((way) => ({ dialect, way })))
  it.live.each(cases)("$dialect, $way: pings are read for two seconds", ({ dialect, way }) =>
    Effect.gen(function* () {
      const bytes: DialectBytes = dialectBytes[dialect]
      const pings = Array.from({ length: 40 }, () => [bytes.ping, { waitMs: 300 }]).flat()
      const does = streaming(bytes, [...bytes.begin, bytes.said(healthyText), ...bytes.finished, ...pings], "hang")
      const reply = yield* ask(dialect, way, does)
      assert.strictEqual(reply.content, healthyText)
      assert.deepStrictEqual(reply.finishReasons, ["stop"])
      assert.isUndefined(reply.error)
      assert.strictEqual(reply.receipt?.provider, "alpha")
      assert.isBelow(reply.tookMs, 8_000)
    })
  )
})
