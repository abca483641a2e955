/** Stored responses over HTTP: continued, read, listed, deleted, and refused. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, it } from "@effect/vitest"
import { generateText } from "ai"
import { Effect } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { MAX_KEPT_CHARACTERS } from "../../../src/gateway/responses/StoredResponses.ts"
import { Unreachable } from "../../../src/providers/Provider.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { delta, end, finish, helloReply } from "../../contract/wire.ts"
import { type Answered, type SentRequest, TestApp, type TestAppOptions } from "../../support/TestApp.ts"

/** A gateway that stores responses, in front of two providers, with the requests that they got. */
const storing = (scripts: { readonly alpha?: Script; readonly beta?: Script } = {}, more: TestAppOptions = {}) => {
  const heard: Array<ChatRequest> = []
  const layer = TestApp.layer({
    ...more,
    settings: { responses: { retentionDays: 30 }, ...more.settings },
    providers: (["alpha", "beta"] as const).map((slug) => ({
      slug,
      models: { "test/small": scripts[slug] ?? { reply: helloReply } },
      onCall: (call, kind) => {
        if (kind !== "embed") heard.push(call.request as ChatRequest)
      }
    }))
  })
  return { heard, layer }
}

const textsOf = (request: ChatRequest | undefined) => request?.messages.map(({ content, role }) => [role, content])

const jsonOf = ({ text }: Answered) => JSON.parse(text)

const errorOf = ({ status, text }: Answered): ReadonlyArray<unknown> => {
  const { code, message, param } = JSON.parse(text).error
  return [status, code, param, message]
}

const client = Effect.gen(function* () {
  const { issueKey, send } = yield* TestApp
  const { id, secret: key } = yield* issueKey()
  const post = (body: Readonly<Record<string, unknown>>, request: SentRequest = {}) =>
    send("/v1/responses", { key, body: { model: "test/small", ...body }, ...request })
  const get = (path: string, request: SentRequest = {}) => send(`/v1/responses/${path}`, { key, ...request })
  return { keyId: id, post, get, remove: (id: string) => get(id, { method: "DELETE" }) }
})

it.effect("a request continues a stored response with its question and its answer, not its instructions", () => {
  const { heard, layer } = storing()
  return Effect.gen(function* () {
    const { post } = yield* client
    const first = jsonOf(yield* post({ input: "One", instructions: "Be brief." }))
    assert.isTrue(first.store)
    const second = jsonOf(yield* post({ input: [{ role: "user", content: "Two" }], previous_response_id: first.id }))
    assert.strictEqual(second.previous_response_id, first.id)
    yield* post({ input: "Three", instructions: "Be kind.", previous_response_id: second.id, store: false })
    assert.deepStrictEqual(textsOf(heard[0]), [
      ["system", "Be brief."],
      ["user", "One"]
    ])
    const asked = heard[2]?.messages.map(({ content, role }) => `${role}: ${JSON.stringify(content)}`).join("\n") ?? ""
    assert.match(
      asked,
      /^system: "Be kind\."\nuser: .*One.*\nassistant: .*Hello.*\nuser: .*Two.*\nassistant: .*Hello.*\nuser: .*Three/
    )
    assert.notInclude(asked, "brief")
  }).pipe(Effect.provide(layer))
})

it.effect("a conversation goes on after a fallback to another provider, streamed too", () => {
  const { heard, layer } = storing({ alpha: { failure: new Unreachable({ detail: "down" }) } })
  return Effect.gen(function* () {
    const { get, post } = yield* client
    const streamed = yield* post({ input: "One", stream: true, provider: { only: ["beta"] } })
    const events = streamed.text
      .split("\n")
      .flatMap((line) => (line.startsWith("data: ") ? JSON.parse(line.slice(6)) : []))
    const { response, type } = events.at(-1)
    assert.deepStrictEqual([type, response.store, events[0].response.store], ["response.completed", true, true])
    assert.deepStrictEqual(jsonOf(yield* get(response.id)), response)
    const next = yield* post({
      input: "Two",
      previous_response_id: response.id,
      provider: { order: ["alpha", "beta"] }
    })
    assert.strictEqual(next.headers.get("x-tollgate-provider"), "beta")
    assert.include(JSON.stringify(heard.at(-1)?.messages), "One")
  }).pipe(Effect.provide(layer))
})

it.effect("reads, lists and deletes a stored response; what continued it keeps its items", () =>
  Effect.gen(function* () {
    const { get, post, remove } = yield* client
    const first = jsonOf(yield* post({ input: "One" }))
    const second = jsonOf(
      yield* post({
        previous_response_id: first.id,
        input: [
          { role: "user", content: [{ type: "input_text", text: "Two" }], id: "msg_own" },
          { type: "function_call_output", call_id: "call_1", output: "3" }
        ]
      })
    )
    assert.deepStrictEqual(jsonOf(yield* get(first.id)), first)
    assert.deepStrictEqual(jsonOf(yield* get(`${first.id}?include[]=reasoning.encrypted_content&stream=false`)), first)
    const asc = jsonOf(yield* get(`${second.id}/input_items?order=asc`))
    assert.deepStrictEqual(
      asc.data.map(({ role, type }: { readonly role?: string; readonly type: string }) => role ?? type),
      ["user", "assistant", "user", "function_call_output"]
    )
    const ids = asc.data.map(({ id }: { readonly id: string }) => id)
    assert.deepStrictEqual([asc.object, asc.first_id, asc.last_id, asc.has_more], ["list", ids[0], ids[3], false])
    assert.deepStrictEqual(asc.data[0].content, [{ type: "input_text", text: "One" }])
    assert.strictEqual(ids[1], first.output[0].id)
    assert.strictEqual(ids[2], "msg_own")
    // Newest first, page by page.
    const page = jsonOf(yield* get(`${second.id}/input_items?limit=3`))
    assert.deepStrictEqual([page.data.length, page.first_id, page.last_id, page.has_more], [3, ids[3], ids[1], true])
    const rest = jsonOf(yield* get(`${second.id}/input_items?limit=3&after=${ids[1]}`))
    assert.deepStrictEqual([rest.data.length, rest.first_id, rest.has_more], [1, ids[0], false])

    const removed = yield* remove(first.id)
    assert.deepStrictEqual(
      [removed.status, jsonOf(removed)],
      [200, { id: first.id, object: "response", deleted: true }]
    )
    assert.strictEqual(errorOf(yield* get(first.id))[1], "response_not_found")
    assert.strictEqual((yield* remove(first.id)).status, 404)
    assert.deepStrictEqual(jsonOf(yield* get(`${second.id}/input_items?order=asc`)), asc)
    assert.strictEqual((yield* post({ input: "Three", previous_response_id: second.id })).status, 200)
    assert.strictEqual((yield* post({ input: "Three", previous_response_id: first.id })).status, 400)
  }).pipe(Effect.provide(storing().layer))
)

it.effect("an input may refer to items of stored responses, as the AI SDK does", () => {
  const { heard, layer } = storing()
  return Effect.gen(function* () {
    const { post } = yield* client
    const other = yield* client
    const first = jsonOf(yield* post({ input: [{ role: "user", content: "One" }] }))
    const reference = { type: "item_reference", id: first.output[0].id }
    const two = [{ role: "user", content: "One" }, reference, { role: "user", content: "Two" }]
    const second = jsonOf(yield* post({ input: two }))
    const three = [...two, { type: "item_reference", id: second.output[0].id }, { role: "user", content: "Three" }]
    assert.strictEqual((yield* post({ input: three })).status, 200)
    assert.deepStrictEqual(
      heard.at(-1)?.messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "user"]
    )
    assert.deepStrictEqual(errorOf(yield* other.post({ input: two })), [
      400,
      "invalid_request",
      "input.1",
      `Item with id '${reference.id}' not found.`
    ])
    assert.strictEqual(errorOf(yield* post({ input: [{ ...reference, id: "msg_1" }] }))[2], "input.0")
  }).pipe(Effect.provide(layer))
})

it.effect("tells another key the same words as for an id that does not exist", () =>
  Effect.gen(function* () {
    const mine = yield* client
    const other = yield* client
    const { id } = jsonOf(yield* mine.post({ input: "One" }))
    const unknown = `resp_${"0".repeat(32)}`
    for (const given of [id, unknown]) {
      assert.deepStrictEqual(errorOf(yield* other.post({ input: "Two", previous_response_id: given })), [
        400,
        "previous_response_not_found",
        "previous_response_id",
        `Previous response with id '${given}' not found.`
      ])
      for (const answered of [
        yield* other.get(given),
        yield* other.get(`${given}/input_items`),
        yield* other.remove(given)
      ]) {
        assert.deepStrictEqual(errorOf(answered), [404, "response_not_found", null, "There is no such response."])
      }
    }
    assert.strictEqual((yield* mine.get(id)).status, 200)
  }).pipe(Effect.provide(storing().layer))
)

it.effect("stores nothing that the client does not want stored, and nothing that failed", () => {
  const cut: Script = { events: [delta({ content: "Hel" }), new Unreachable({ detail: "cut" })] }
  const { layer } = storing({ alpha: cut, beta: cut })
  return Effect.gen(function* () {
    const { get, post } = yield* client
    const { text } = yield* post({ input: "One", stream: true })
    const last = JSON.parse(text.trim().split("data: ").at(-1) ?? "")
    assert.deepStrictEqual([last.type, last.response.store], ["response.failed", false])
    assert.strictEqual((yield* get(last.response.id)).status, 404)
  }).pipe(Effect.provide(layer))
})

it.effect(
  "answers store: false for a response that could not be stored, whole and streamed",
  () => {
    const content = "a ".repeat(MAX_KEPT_CHARACTERS / 2)
    const { layer } = storing({
      alpha: {
        reply: {
          ...helloReply,
          choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }]
        },
        events: [delta({ content }), finish(), end]
      }
    })
    return Effect.gen(function* () {
      const { get, post } = yield* client
      const provider = { only: ["alpha"] }
      const whole = jsonOf(yield* post({ input: "One", provider }))
      assert.deepStrictEqual([whole.status, whole.store], ["completed", false])
      const { text } = yield* post({ input: "One", provider, stream: true })
      const last = JSON.parse(text.trim().split("data: ").at(-1) ?? "")
      assert.deepStrictEqual([last.type, last.response.store], ["response.completed", false])
      assert.strictEqual((yield* get(last.response.id)).status, 404)
      const forbidden = jsonOf(yield* post({ input: "One", provider: { only: ["beta"] }, store: false }))
      assert.isFalse(forbidden.store)
      assert.strictEqual((yield* get(forbidden.id)).status, 404)
    }).pipe(Effect.provide(layer))
  },
  60_000
)

it.effect("without a retention nothing is stored, and the refusal says what to do", () =>
  Effect.gen(function* () {
    const { get, post, remove } = yield* client
    const answered = jsonOf(yield* post({ input: "One", store: true }))
    assert.isFalse(answered.store)
    const [status, code, param, message] = errorOf(yield* post({ input: "Two", previous_response_id: answered.id }))
    assert.deepStrictEqual([status, code, param], [400, "unsupported_parameter", "previous_response_id"])
    assert.match(String(message), /'input'.*responses\.retention_days/)
    for (const read of [
      yield* get(answered.id),
      yield* get(`${answered.id}/input_items`),
      yield* remove(answered.id)
    ]) {
      assert.strictEqual(errorOf(read)[0], 404)
    }
  }).pipe(Effect.provide(storing({}, { settings: { responses: { retentionDays: null } } }).layer))
)

it.effect("refuses to stream a stored response, an unknown item, and a wrong page", () =>
  Effect.gen(function* () {
    const { get, post } = yield* client
    const { id } = jsonOf(yield* post({ input: "One" }))
    assert.deepStrictEqual(errorOf(yield* get(`${id}?stream=true`)).slice(0, 3), [
      400,
      "unsupported_parameter",
      "stream"
    ])
    assert.deepStrictEqual(errorOf(yield* get(`${id}/input_items?after=msg_0`)).slice(0, 3), [
      400,
      "invalid_request",
      "after"
    ])
    assert.strictEqual(errorOf(yield* get(`${id}/input_items?limit=101`))[0], 400)
    assert.strictEqual(errorOf(yield* get(`${id}/input_items?order=up`))[0], 400)
  }).pipe(Effect.provide(storing().layer))
)

it.effect("a fault is told at the place that the client knows", () =>
  Effect.gen(function* () {
    const { post } = yield* client
    const { id } = jsonOf(yield* post({ input: "One" }))
    const input = [
      { role: "user", content: "Two" },
      { role: "critic", content: "Hm" }
    ]
    const [status, , param, message] = errorOf(yield* post({ input, previous_response_id: id }))
    assert.deepStrictEqual([status, param], [400, "input.1.role"])
    assert.match(String(message), /^input\.1\.role/)
  }).pipe(Effect.provide(storing().layer))
)

it.effect("a retry with the same Idempotency-Key gets the same stored response, and none that was deleted", () =>
  Effect.gen(function* () {
    const { get, post, remove } = yield* client
    const headers = { "idempotency-key": "order-7" }
    const first = jsonOf(yield* post({ input: "One" }, { headers }))
    const again = yield* post({ input: "One" }, { headers })
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
    assert.deepStrictEqual(jsonOf(again), first)
    yield* remove(first.id)
    assert.deepStrictEqual(jsonOf(yield* post({ input: "One" }, { headers })), { ...first, store: false })
    assert.strictEqual((yield* get(first.id)).status, 404)
  }).pipe(Effect.provide(storing().layer))
)

it.effect("the AI SDK goes on by references to stored items", () => {
  const { heard, layer } = storing()
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret: apiKey } = yield* issueKey()
    const sent: Array<string> = []
    const model = createOpenAI({
      baseURL: `${url}/v1`,
      apiKey,
      fetch: (input, init) => {
        if (typeof init?.body === "string") sent.push(init.body)
        return fetch(input, init)
      }
    }).responses("test/small")
    const first = yield* Effect.promise(() => generateText({ model, prompt: "One", maxRetries: 0 }))
    const messages = [
      { role: "user" as const, content: "One" },
      ...first.response.messages,
      { role: "user" as const, content: "Two" }
    ]
    const second = yield* Effect.promise(() => generateText({ model, messages, maxRetries: 0 }))
    assert.strictEqual(second.text, "Hello")
    assert.include(sent.at(-1), "item_reference")
    assert.deepStrictEqual(
      heard.at(-1)?.messages.map(({ role }) => role),
      ["user", "assistant", "user"]
    )
  }).pipe(Effect.provide(layer))
})

it.effect("the limits come before a conversation is read, and count all of it", () => {
  const { heard, layer } = storing(
    {},
    {
      settings: {
        tiers: {
          free: { requestsPerMinute: 3, tokensPerMinute: 300, concurrency: 2 },
          pro: { requestsPerMinute: 3, tokensPerMinute: 300, concurrency: 2 },
          enterprise: { requestsPerMinute: 3, tokensPerMinute: 300, concurrency: 2 }
        }
      }
    }
  )
  return Effect.gen(function* () {
    const { post } = yield* client
    const first = jsonOf(yield* post({ input: "word ".repeat(200) }))
    const second = yield* post({ input: "word ".repeat(200), previous_response_id: first.id })
    assert.deepStrictEqual([second.status, jsonOf(second).error.details.limit], [429, "tokens"])
    const unknown = { input: "Two", previous_response_id: "resp_unknown" }
    assert.strictEqual((yield* post(unknown)).status, 400)
    assert.strictEqual((yield* post(unknown)).status, 429)
    assert.lengthOf(heard, 1)
  }).pipe(Effect.provide(layer))
})

it.effect("the budget counts the whole conversation", () => {
  const { heard, layer } = storing()
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    // A prompt costs 1,000 nano-USD a token, and an answer 2,000.
    const { secret: key } = yield* issueKey({ monthlyBudgetNano: 800_000 })
    const post = (body: Readonly<Record<string, unknown>>) =>
      send("/v1/responses", { key, body: { model: "test/small", max_output_tokens: 16, ...body } })
    const input = "word ".repeat(450)
    const first = yield* post({ input })
    assert.strictEqual(first.status, 200)
    const alone = yield* post({ input: "Two" })
    assert.strictEqual(alone.status, 200)
    const second = jsonOf(yield* post({ input, previous_response_id: jsonOf(first).id }))
    assert.strictEqual(second.error?.code, "insufficient_quota")
    assert.lengthOf(heard, 2)
  }).pipe(Effect.provide(layer))
})

it.effect("revoking a key deletes its responses", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const { get, keyId, post } = yield* client
    const { id } = jsonOf(yield* post({ input: "One" }))
    assert.strictEqual((yield* get(id)).status, 200)
    const headers = { "x-admin-key": adminKey }
    assert.strictEqual((yield* send(`/v1/keys/${keyId}`, { method: "DELETE", headers })).status, 200)
    assert.strictEqual((yield* get(id)).status, 401)
  }).pipe(Effect.provide(storing().layer))
)
