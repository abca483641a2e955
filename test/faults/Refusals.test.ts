/**
 * Providers that refuse: too many requests, server errors, refused credentials. The client gets an
 * answer.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatSurface, surfaces } from "../support/surfaces.ts"
import { errorBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback, assertRetried, assertWhole } from "./answers.ts"
import { answering, behindOn, modes, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const throttled = (headers: Readonly<Record<string, string>>): Behaviour => ({
  status: 429,
  headers,
  json: errorBody("slow down", { type: "rate_limit_error", code: "rate_limit_exceeded" })
})
const limited = { status: "error", error_type: "rate_limited", http_status: 429 }

describe.each(surfaces)("$name", (surface) => {
  const behind = behindOn(surface)

  describe("429", () => {
    it.live.each(modes)("with Retry-After and no fallback: waits, then answers (%s)", (mode) =>
      Effect.gen(function* () {
        for (const [headers, waitMs] of [
          [{ "retry-after-ms": "50" }, 50],
          [{ "retry-after": mode === "JSON" ? "2" : "1" }, mode === "JSON" ? 2_000 : 1_000]
        ] as const) {
          const gateway = yield* behind(upstream(), { alpha: { does: [throttled(headers), answering(mode)] } })
          assertRetried(mode, yield* gateway.ask(mode), limited)
          const [first, second] = yield* gateway.calls("alpha")
          const waitedMs = (second?.receivedAtMs ?? 0) - (first?.receivedAtMs ?? 0)
          assert.isAtLeast(waitedMs, waitMs - 5)
        }
      })
    )

    it.live.each(modes)("with a fallback: the fallback answers at once (%s)", (mode) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: throttled({ "retry-after": "5" }) },
          beta: { does: answering(mode) }
        })
        const reply = yield* gateway.ask(mode)
        assertFallback(mode, reply, limited)
        assert.isBelow(reply.tookMs, 4_000)
      })
    )

    it.live.each(modes)("with a long Retry-After: it is passed on to the client (%s)", (mode) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), { alpha: { does: throttled({ "retry-after": "60" }) } })
        const reply = yield* gateway.ask(mode)
        assert.isBelow(reply.tookMs, 10_000)
        assert.strictEqual(reply.status, surface.status(429))
        assert.strictEqual(reply.error?.type, "provider_rate_limited")
        if (surface === chatSurface) assert.strictEqual(reply.error?.retry_after, 60)
        assert.strictEqual(reply.headers.get("retry-after"), "60")
        assert.strictEqual((yield* gateway.calls("alpha")).length, 1)
      })
    )
  })

  describe("a 402 or 403 that is about the request", () => {
    const own: Readonly<Record<string, Behaviour>> = {
      "flagged input": {
        status: 403,
        json: { error: { code: 403, message: "the input was flagged", metadata: { reasons: ["violence"] } } }
      },
      "an output limit beyond the credit": {
        status: 402,
        json: { error: { code: 402, message: "requires more credits, or fewer max_tokens" } }
      }
    }
    const cases = Object.entries(own).flatMap(([name, does]) => modes.map((mode) => ({ name, mode, does })))
    it.live.each(cases)("$name ($mode): the client gets the reason, and other requests go on", ({ does, mode }) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: [does, answering(mode)] },
          beta: { does: answering(mode) }
        })
        const refused = yield* gateway.ask(mode)
        assert.strictEqual(refused.status, 400, refused.text)
        assert.include(refused.error?.message, (does.json as { error: { message: string } }).error.message)
        assertWhole(mode, yield* gateway.ask(mode), "alpha")
      })
    )
  })

  describe("repeated headers", () => {
    const raw = (status: string, headers: ReadonlyArray<string>, body: unknown): Behaviour => ({
      raw: true,
      chunks: [`HTTP/1.1 ${status}\r\n${headers.join("\r\n")}\r\nconnection: close\r\n\r\n${JSON.stringify(body)}`]
    })
    const json = "content-type: application/json"

    it.live.each(modes)("Retry-After: the fallback answers (%s)", (mode) =>
      Effect.gen(function* () {
        const does = raw("429 Too Many Requests", [json, "retry-after: 1", "retry-after: 7"], errorBody("slow down"))
        const gateway = yield* behind(upstream(), { alpha: { does }, beta: { does: answering(mode) } })
        assertFallback(mode, yield* gateway.ask(mode), limited)
      })
    )

    it.live.each(modes)("the longest sensible Retry-After is passed on (%s)", (mode) =>
      Effect.gen(function* () {
        const headers = [json, "retry-after: 1e999", "retry-after: -3", "retry-after: 60", "retry-after: soon"]
        const does = raw("429 Too Many Requests", headers, errorBody("slow down"))
        const gateway = yield* behind(upstream(), { alpha: { does } })
        assert.strictEqual((yield* gateway.ask(mode)).headers.get("retry-after"), "60")
      })
    )

    it.live.each(modes)("type and encoding of a good answer: the answer is read (%s)", (mode) =>
      Effect.gen(function* () {
        const type = mode === "JSON" ? json : "content-type: text/event-stream"
        const encoding = "content-encoding: identity"
        const { chunks = [], json: body } = answering(mode) as Behaviour
        const head = `HTTP/1.1 200 OK\r\n${[type, type, encoding, encoding].join("\r\n")}\r\nconnection: close\r\n\r\n`
        const does: Behaviour = { raw: true, chunks: [head, ...(mode === "JSON" ? [JSON.stringify(body)] : chunks)] }
        const gateway = yield* behind(upstream(), { alpha: { does } })
        assertWhole(mode, yield* gateway.ask(mode), "alpha")
      })
    )
  })

  describe("5xx", () => {
    const faults = modes.flatMap((mode) => [500, 502, 503].map((status) => ({ mode, status })))
    const failing = (status: number): Behaviour => ({ status, json: errorBody("oops", { type: "server_error" }) })

    it.live.each(faults)("$status with a fallback: the fallback answers ($mode)", ({ mode, status }) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), {
          alpha: { does: failing(status) },
          beta: { does: answering(mode) }
        })
        const reply = yield* gateway.ask(mode)
        assertFallback(mode, reply, { status: "error", error_type: "server_error", http_status: status })
      })
    )

    it.live.each(faults)("$status once and no fallback: a retry answers ($mode)", ({ mode, status }) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), { alpha: { does: [failing(status), answering(mode)] } })
        assertRetried(mode, yield* gateway.ask(mode), { status: "error", http_status: status })
      })
    )

    it.live.each(modes)("with an HTML page for a body (%s)", (mode) =>
      Effect.gen(function* () {
        const page = {
          status: 502,
          headers: { "content-type": "text/html" },
          body: "<html><h1>Bad Gateway</h1></html>"
        }
        const gateway = yield* behind(upstream(), { alpha: { does: page }, beta: { does: answering(mode) } })
        assertFallback(mode, yield* gateway.ask(mode), { status: "error", http_status: 502 })
      })
    )
  })

  describe("the provider's key is refused", () => {
    const refusals = modes.flatMap((mode) => [401, 403].map((status) => ({ mode, status })))
    const refused = (status: number): Behaviour => ({
      status,
      json: errorBody("Incorrect API key provided: sk-alpha", { code: "invalid_api_key" })
    })

    it.live.each(refusals)("with $status: the fallback answers ($mode)", ({ mode, status }) =>
      Effect.gen(function* () {
        const gateway = yield* behind(upstream(), { alpha: { does: refused(status) }, beta: { does: answering(mode) } })
        const reply = yield* gateway.ask(mode)
        assertFallback(mode, reply, { status: "error", error_type: "credentials_refused", http_status: status })
      })
    )

    it.live.each(refusals)(
      "with $status and no fallback: no 401 for the client, and no key ($mode)",
      ({ mode, status }) =>
        Effect.gen(function* () {
          const gateway = yield* behind(upstream(), { alpha: { does: refused(status) } })
          const reply = yield* gateway.ask(mode)
          assert.oneOf(reply.status, [502, 503, 529])
          assert.oneOf(reply.error?.type, ["provider_error", "provider_unavailable"])
          assert.notInclude(reply.text, "sk-alpha")
          assert.isNull(reply.headers.get("www-authenticate"))
          assert.strictEqual((yield* gateway.calls("alpha")).length, 1)
        })
    )
  })
})
