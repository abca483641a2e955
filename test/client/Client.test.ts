/** Both variants of the client against a gateway in another process, and their failures. */
import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Result, Stream } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { inspect } from "node:util"
import { connect, type Head, Tollgate, TollgateError } from "../../src/client/Client.ts"
import { eventually, promptMarker } from "../support/Gateway.ts"
import { startUpstream } from "../support/upstream/Upstream.ts"
import { drained, rejection, says, Served } from "./served.ts"

type Members = Readonly<Record<string, unknown>>

const asError = (error: unknown): TollgateError => {
  assert.instanceOf(error, TollgateError)
  return error
}

const textOf = (chunks: ReadonlyArray<{ readonly choices: ReadonlyArray<{ readonly delta: unknown }> }>): string =>
  chunks.map(({ choices }) => (choices[0]?.delta as { readonly content?: string } | undefined)?.content ?? "").join("")

/** The texts of the events of a type, by the path of a member. */
const joined = (events: ReadonlyArray<Members>, type: string, ...path: ReadonlyArray<string>): string =>
  events
    .filter((event) => event["type"] === type)
    .map((event) => path.reduce<unknown>((at, name) => (at as Members)[name], event))
    .join("")

layer(Served.layer, { excludeTestServices: true, timeout: 120_000 })("the client, of a gateway", (it) => {
  const client = Effect.map(Served, ({ gateway, key }) =>
    connect({ url: gateway.url, apiKey: key, adminKey: gateway.adminKey })
  )

  it.effect("completes a chat, and tells of the answer's head", () =>
    Effect.gen(function* () {
      const { chat, generations } = yield* client
      const heads: Array<Head> = []
      const answer = yield* Effect.promise(() =>
        chat.complete(
          { payload: { model: "mock/echo", messages: says("hello") } },
          { onHead: (head) => heads.push(head) }
        )
      )
      assert.strictEqual(answer.choices[0]?.message.content, `hello ${promptMarker}`)
      assert.strictEqual(heads[0]?.status, 200)
      assert.strictEqual(heads[0]?.headers["x-generation-id"], answer.generation_id)
      const generation_id = answer.generation_id ?? ""
      const record = yield* Effect.promise(() => generations.get({ params: { generation_id } }))
      assert.strictEqual(record.usage.total_tokens, answer.usage.total_tokens)
    })
  )

  it.effect("sends messages, and reads the errors of their API as all others", () =>
    Effect.gen(function* () {
      const { messages } = yield* client
      const payload = { model: "mock/echo", max_tokens: 50, messages: says("hello") }
      const { content, stop_reason, usage } = yield* Effect.promise(() => messages.create({ payload }))
      assert.deepStrictEqual([content[0]?.["text"], stop_reason], [`hello ${promptMarker}`, "end_turn"])
      assert.isAbove(usage.output_tokens, 0)
      const counted = yield* Effect.promise(() =>
        messages.countTokens({ payload: { model: "mock/echo", messages: says("hello") } })
      )
      assert.isAbove(counted.input_tokens, 3)
      const error = asError(yield* rejection(() => messages.create({ payload: { ...payload, model: "mock/none" } })))
      assert.strictEqual(error.reason._tag, "Refused")
      assert.deepInclude(error.reason._tag === "Refused" ? error.reason.error : {}, {
        type: "not_found_error",
        code: "model_not_found",
        retryable: false
      })
      assert.match(error.message, /mock\/none/)
    })
  )

  it.effect("streams chunk by chunk, the usage last", () =>
    Effect.gen(function* () {
      const { chat } = yield* client
      const { error, items } = yield* drained(
        chat.stream({ payload: { model: "mock/echo", messages: says("one two three") } })
      )
      assert.isNull(error)
      assert.strictEqual(textOf(items), `one two three ${promptMarker}`)
      assert.isAbove(items.length, 4)
      assert.isAbove(items.at(-1)?.usage?.completion_tokens ?? 0, 3)
    })
  )

  it.effect("streams messages and responses, and reads their ends and errors", () =>
    Effect.gen(function* () {
      const { messages, responses } = yield* client
      const asked = { model: "mock/echo", max_tokens: 50, messages: says("one two") }
      const message = yield* drained(messages.stream({ payload: asked }))
      assert.isNull(message.error)
      assert.strictEqual(joined(message.items, "content_block_delta", "delta", "text"), `one two ${promptMarker}`)
      assert.strictEqual(message.items.at(-1)?.type, "message_stop")

      const input = `one two ${promptMarker}`
      const whole = yield* Effect.promise(() => responses.create({ payload: { model: "mock/echo", input } }))
      assert.deepStrictEqual([whole.status, whole.model, whole.error], ["completed", "mock/echo", null])
      const response = yield* drained(responses.stream({ payload: { model: "mock/echo", input } }))
      assert.isNull(response.error)
      assert.strictEqual(joined(response.items, "response.output_text.delta", "delta"), input)
      assert.strictEqual(response.items.at(-1)?.type, "response.completed")

      for (const [error, type] of [
        [(yield* drained(messages.stream({ payload: { ...asked, model: "mock/none" } }))).error, "not_found_error"],
        [(yield* drained(responses.stream({ payload: { model: "mock/none", input } }))).error, "model_not_found"]
      ] as const) {
        assert.strictEqual(asError(error).reason._tag, "Refused")
        assert.strictEqual(asError(error).type, type)
      }
    })
  )

  it.effect("leaving the loop ends the call at the gateway", () =>
    Effect.gen(function* () {
      const { chat, generations } = yield* client
      const payload = {
        model: "mock/lorem",
        messages: says("for long"),
        metadata: { mock: { tokens_per_second: 2 } }
      }
      yield* Effect.promise(async () => {
        for await (const chunk of chat.stream({ payload })) if (chunk.choices.length > 0) return
      })
      yield* eventually(
        Effect.filterOrFail(
          Effect.promise(() => generations.list({ query: { limit: 1, model: "mock/lorem" } })),
          ({ data }) => data[0]?.cancelled === true
        ),
        10_000,
        "a generation that is cancelled"
      )
    })
  )

  it.effect("a stream that the gateway gives up fails with its words, after its usage", () =>
    Effect.gen(function* () {
      const { chat } = yield* client
      const payload = {
        model: "mock/echo",
        messages: says("one two three"),
        metadata: { mock: { fail: "cut", after_tokens: 2 } }
      }
      const { error, items } = yield* drained(chat.stream({ payload }))
      assert.strictEqual(textOf(items), "one two")
      assert.strictEqual(items.at(-1)?.usage?.completion_tokens, 2)
      const failure = asError(error)
      assert.strictEqual(failure.reason._tag, "BrokenOff")
      assert.deepInclude({ ...failure.body }, { type: "provider_error", retryable: true })
      assert.match(failure.requestId ?? "", /^req_/)
    })
  )

  it.effect("a signal ends calls and streams with its reason", () =>
    Effect.gen(function* () {
      const { chat, models } = yield* client
      const signal = AbortSignal.abort(new Error("enough"))
      assert.strictEqual(yield* rejection(() => models.list(undefined, { signal })), signal.reason)
      const controller = new AbortController()
      const payload = { model: "mock/lorem", messages: says("slowly"), metadata: { mock: { tokens_per_second: 1 } } }
      const { error, items } = yield* Effect.promise(async () => {
        const items: Array<unknown> = []
        try {
          for await (const chunk of chat.stream({ payload }, { signal: controller.signal })) {
            items.push(chunk)
            controller.abort("seen enough")
          }
          return { items, error: null }
        } catch (error) {
          return { items, error }
        }
      })
      assert.strictEqual(error, "seen enough")
      assert.lengthOf(items, 1)
    })
  )

  it.effect("issues, lists, rotates and revokes keys with the admin key", () =>
    Effect.gen(function* () {
      const { keys } = yield* client
      const issued = yield* Effect.promise(() =>
        keys.create({ payload: { name: "made by a client", expires_at: "2190-01-01T00:00:00Z" } })
      )
      assert.match(issued.key, /^tg-/)
      const { data } = yield* Effect.promise(() => keys.list({ query: { limit: 1 } }))
      assert.deepStrictEqual(
        data.map(({ id }) => id),
        [issued.id]
      )
      const params = { key_id: issued.id }
      const rotated = yield* Effect.promise(() => keys.rotate({ params, payload: { grace_seconds: 60 } }))
      assert.notStrictEqual(rotated.key, issued.key)
      assert.strictEqual((yield* Effect.promise(() => keys.revoke({ params }))).status, "revoked")
    })
  )

  it.effect("refusals carry the envelope: no key, an unknown model, every fault of a request", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* Served
      const nobody = connect({ url: gateway.url })
      const unknown = asError(yield* rejection(() => nobody.models.list()))
      assert.deepInclude({ status: unknown.status, type: unknown.type }, { status: 401, type: "authentication_error" })
      assert.isFalse(unknown.isRetryable)

      // As SDKs have it.
      const { chat } = connect({ url: `${gateway.url}/v1/`, apiKey: key })
      const missing = asError(
        yield* rejection(() => chat.complete({ payload: { model: "no/such", messages: says("x") } }))
      )
      assert.deepInclude({ status: missing.status, type: missing.type }, { status: 404, type: "model_not_found" })

      const wrong = asError(
        yield* rejection(() => chat.complete({ payload: { model: "", messages: [], temperature: 3 } }))
      )
      assert.strictEqual(wrong.reason._tag, "Refused")
      if (wrong.reason._tag === "Refused") {
        assert.sameMembers(
          wrong.reason.faults.map(({ loc }) => loc[1]),
          ["model", "messages", "temperature"]
        )
      }
      assert.include(wrong.message, "body.temperature")
    })
  )

  it.effect("sends each endpoint the credential that it asks for, and an error holds none", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Served
      const sent: Array<string> = []
      const { health, keys, models } = connect({
        url: gateway.url,
        apiKey: "the-api-key",
        adminKey: "the-admin-key",
        fetch: (input, init) => {
          sent.push(JSON.stringify([...new Headers(init?.headers)].filter(([name]) => /key|auth/.test(name))))
          return fetch(input, init)
        }
      })
      yield* Effect.promise(() => health.report())
      const refused = yield* rejection(() => models.list())
      yield* rejection(() => keys.list())
      assert.deepStrictEqual(sent, [
        "[]",
        '[["authorization","Bearer the-api-key"]]',
        '[["x-admin-key","the-admin-key"]]'
      ])
      const away = connect({ url: "http://127.0.0.1:9", apiKey: "the-api-key", adminKey: "the-admin-key" })
      const unreachable = yield* rejection(() => away.keys.list())
      const torn = yield* rejection(() => connect({ url: gateway.url, apiKey: "the-api\r\nkey" }).models.list())
      assert.deepInclude(torn, { status: null, isRetryable: false })
      assert.instanceOf(torn, TollgateError)
      assert.deepInclude((torn as TollgateError).reason, { _tag: "Unsendable", header: "authorization" })
      for (const error of [refused, unreachable, torn]) assert.notInclude(inspect(error, { depth: 20 }), "the-")
    })
  )

  it.effect("as a service: effects, streams and the same errors", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* Served
      const asked = Effect.gen(function* () {
        const tollgate = yield* Tollgate
        const chunks = yield* Stream.runCollect(
          tollgate.chat.stream({ payload: { model: "mock/echo", messages: says("effects") } })
        )
        const refused = yield* Effect.flip(tollgate.keys.list())
        return { chunks, refused, ids: (yield* tollgate.models.list()).data.map(({ id }) => id) }
      })
      const { chunks, ids, refused } = yield* Effect.scoped(
        Effect.flatMap(Layer.build(Tollgate.layer({ url: gateway.url, apiKey: key })), (services) =>
          Effect.provideContext(asked, services)
        )
      )
      assert.strictEqual(textOf(chunks), `effects ${promptMarker}`)
      assert.include(ids, "mock/echo")
      assert.deepInclude({ status: refused.status, type: refused.type }, { status: 401, type: "authentication_error" })
    })
  )
})

describe("the client, of something else", () => {
  const elsewhere = Effect.acquireRelease(Effect.promise(startUpstream), ({ stop }) => Effect.promise(stop))

  test.live("tells a cut connection, a stream without its end, a stranger and nobody apart", () =>
    Effect.gen(function* () {
      const { origin, script } = yield* elsewhere
      const first = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","provider":"p","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}\n\n`
      yield* Effect.promise(() => script("cut", { chunks: [first], ending: "reset" }))
      yield* Effect.promise(() => script("endless", { chunks: [first], ending: "end" }))
      yield* Effect.promise(() => script("garbled", { chunks: [first, "data: {nonsense}\n\n"], ending: "end" }))
      yield* Effect.promise(() => script("proxy", { status: 502, body: "<h1>Bad gateway</h1>" }))
      yield* Effect.promise(() => script("stranger", { json: { hello: "world" } }))
      const { chat } = connect({ url: `${origin}/` })
      for (const [model, tag] of [
        ["cut", "CutOff"],
        ["endless", "CutOff"],
        ["garbled", "Unexpected"]
      ] as const) {
        const { error, items } = yield* drained(chat.stream({ payload: { model, messages: says("x") } }))
        assert.strictEqual(asError(error).reason._tag, tag, model)
        assert.isFalse(asError(error).isRetryable)
        assert.isAtMost(items.length, 1)
      }
      for (const [model, status] of [
        ["proxy", 502],
        ["stranger", 200]
      ] as const) {
        const error = asError(yield* rejection(() => chat.complete({ payload: { model, messages: says("x") } })))
        assert.deepInclude({ tag: error.reason._tag, status: error.status }, { tag: "Unexpected", status })
      }
      const nobody = asError(yield* rejection(() => connect({ url: "http://127.0.0.1:9" }).health.live()))
      assert.strictEqual(nobody.reason._tag, "Unreachable")
      assert.isTrue(nobody.isRetryable)
      const nowhere = asError(yield* rejection(() => connect({ url: "not a url" }).health.live()))
      assert.include(nowhere.message, "Invalid URL")
    })
  )
})

describe("a stream of the other APIs", () => {
  test.live("that breaks fails with the error, and without its end it is cut off", () =>
    Effect.gen(function* () {
      const { origin, script } = yield* Effect.acquireRelease(Effect.promise(startUpstream), ({ stop }) =>
        Effect.promise(stop)
      )
      const event = (type: string, more: object = {}) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...more })}\n\n`
      const broke = { type: "api_error", message: "It broke.", details: { error_code: "provider_error", attempts: [] } }
      const fault = {
        code: "rate_limit_exceeded",
        message: "Slower.",
        type: "provider_error",
        param: null,
        details: {}
      }
      const pieces = {
        cut: [event("ping"), event("response.in_progress")],
        message: [event("ping"), event("error", { error: broke, request_id: "req_1" })],
        response: [event("response.failed", { response: { error: fault } })]
      }
      for (const [model, chunks] of Object.entries(pieces)) yield* Effect.promise(() => script(model, { chunks }))
      const { messages, responses } = connect({ url: origin })
      const message = (model: string) => messages.stream({ payload: { model, max_tokens: 1, messages: says("x") } })
      const response = (model: string) => responses.stream({ payload: { model, input: promptMarker } })
      for (const stream of [message("cut"), response("cut")]) {
        const { error, items } = yield* drained<unknown>(stream)
        assert.deepStrictEqual([asError(error).reason._tag, items.length], ["CutOff", 2])
      }
      const first = yield* drained(message("message"))
      assert.deepStrictEqual([asError(first.error).reason._tag, first.items.length], ["BrokenOff", 1])
      assert.deepInclude(asError(first.error).body, { code: "provider_error", request_id: "req_1", retryable: true })
      const second = yield* drained(response("response"))
      assert.deepStrictEqual([asError(second.error).reason._tag, second.items.length], ["BrokenOff", 1])
      assert.deepInclude(asError(second.error).body, {
        code: "rate_limit_exceeded",
        message: "Slower.",
        retryable: true
      })
    })
  )
})

describe("retries", () => {
  const refusal = (retryable: boolean) => ({
    error: {
      type: "rate_limit_exceeded",
      code: null,
      message: "slower",
      param: null,
      request_id: "req_1",
      retryable,
      retry_after: 7,
      details: {}
    }
  })
  /** A client of a server that fails the first `times` requests, and the number of requests. */
  const refusing = Effect.fnUntraced(function* (times: number, retryable: boolean) {
    let count = 0
    const http = HttpClient.make((request) => {
      const refused = ++count <= times
      const body = refused ? refusal(retryable) : { status: "ok" }
      return Effect.succeed(HttpClientResponse.fromWeb(request, Response.json(body, { status: refused ? 429 : 200 })))
    })
    const make = Tollgate.make({ url: "http://localhost", retries: 2 })
    return { tollgate: yield* Effect.provideService(make, HttpClient.HttpClient, http), asked: () => count }
  })

  test.effect("wait as long as the gateway says, and are as many as were allowed", () =>
    Effect.gen(function* () {
      const { asked, tollgate } = yield* refusing(2, true)
      const answering = yield* Effect.forkChild(tollgate.health.live(), { startImmediately: true })
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(asked(), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(asked(), 2)
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual(yield* Fiber.join(answering), { status: "ok" })

      const worse = yield* refusing(3, true)
      const failing = yield* Effect.forkChild(Effect.result(worse.tollgate.health.live()), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Result.isFailure(yield* Fiber.join(failing)))
      assert.strictEqual(worse.asked(), 3)
    })
  )

  test.effect("are for what the gateway calls retryable", () =>
    Effect.gen(function* () {
      const { asked, tollgate } = yield* refusing(1, false)
      const error = yield* Effect.flip(tollgate.health.live())
      assert.strictEqual(error.retryAfterSeconds, 7)
      assert.strictEqual(asked(), 1)
    })
  )
})
