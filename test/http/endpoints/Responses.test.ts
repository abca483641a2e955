/**
 * What the Responses API has of its own: silence, errors in the stream, cut replies, thoughts, the
 * cache.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Cut, Rejected } from "../../../src/providers/Provider.ts"
import { noPrivacy } from "../../../src/settings/sections/PrivacySection.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { open } from "../../contract/client.ts"
import { advanceUntil, until } from "../../contract/clock.ts"
import { delta, end, finish, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"
import { testSettings } from "../../support/testSettings.ts"

const ask = (more: Readonly<Record<string, unknown>> = {}) => ({ model: "test/small", input: "Hi", ...more })

/** A gateway in front of one provider, and the number of its calls. */
const appOf = (script: Script, settings: Partial<typeof testSettings> = {}) => {
  const seen = { calls: 0 }
  const layer = TestApp.layer({
    settings,
    providers: [{ slug: "alpha", models: { "test/small": script }, onCall: () => void seen.calls++ }]
  })
  return { layer, seen }
}

type Event = ReturnType<typeof JSON.parse>
const eventsIn = (text: string): ReadonlyArray<Event> =>
  text.split("\n").flatMap((line) => (line.startsWith("data: ") ? JSON.parse(line.slice(6)) : []))
const typesIn = (text: string) => eventsIn(text).map(({ type }) => type)

it.effect("names what it leaves out in a header, and answers store as false", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const { headers, status, text } = yield* send("/v1/responses", {
      body: ask({ store: true, truncation: "disabled", shiny: 1 }),
      key
    })
    assert.deepStrictEqual([status, headers.get("x-tollgate-dropped")], [200, "shiny"])
    assert.deepInclude(JSON.parse(text), { store: false, status: "completed", model: "test/small" })
    assert.match(headers.get("x-generation-id") ?? "", /^gen_/)
  }).pipe(Effect.provide(appOf({ reply: helloReply }).layer))
)

it.effect("asks the provider again for a request that the prompt cache could answer", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const calls of [1, 2]) {
      const { headers } = yield* send("/v1/responses", { body: ask({ temperature: 0 }), key })
      assert.deepStrictEqual([seen.calls, headers.get("x-tollgate-cache")], [calls, "bypass"])
    }
  }).pipe(Effect.provide(layer))
})

it.effect("fills a silence with events, before the first token and after", () => {
  const { layer, seen } = appOf({
    delayMs: 40_000,
    events: [delta({ content: "Hel" }), 40_000, delta({ content: "lo" }), finish(), end]
  })
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const stream = open(`${url}/v1/responses`, secret, ask({ stream: true }))
    yield* until(() => seen.calls > 0)
    yield* advanceUntil(stream.ended)
    const events = eventsIn(stream.text())
    assert.deepStrictEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, at) => at)
    )
    assert.deepStrictEqual(
      events.map(({ type }) => type.slice("response.".length)).filter((type) => !/^(?:output|content)/.test(type)),
      ["created", "in_progress", "in_progress", "in_progress", "in_progress", "completed"]
    )
    const ids = new Set(events.flatMap(({ response }) => response?.id ?? []))
    assert.lengthOf([...ids], 1)
    assert.notInclude(stream.text(), "\n:")
  }).pipe(Effect.provide(layer))
})

it.effect("tells a conversation that is too long in the stream, and in a whole answer by its status", () => {
  const failure = new Rejected({
    status: 400,
    message: "This model's maximum context length is 8 tokens.",
    param: "messages",
    code: "context_length_exceeded",
    contextLength: true
  })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const whole = yield* send("/v1/responses", { body: ask(), key })
    assert.deepStrictEqual([whole.status, JSON.parse(whole.text).error.code], [400, "context_length_exceeded"])
    const { headers, status, text } = yield* send("/v1/responses", { body: ask({ stream: true }), key })
    assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/event-stream; charset=utf-8"])
    assert.deepStrictEqual(typesIn(text), ["response.created", "response.in_progress", "response.failed"])
    assert.deepInclude(eventsIn(text).at(-1).response.error, { code: "context_length_exceeded" })
  }).pipe(Effect.provide(appOf({ failure }).layer))
})

const tiers = { ...testSettings.tiers, free: { requestsPerMinute: 1, tokensPerMinute: 40_000, concurrency: 4 } }

it.effect("tells Codex a rate limit in the stream, with the time to wait, and others by the status", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey({ tier: "free" })
    yield* send("/v1/responses", { body: ask(), key })
    const others = yield* send("/v1/responses", { body: ask({ stream: true }), key })
    assert.deepStrictEqual([others.status, JSON.parse(others.text).error.code], [429, "requests_limit_exceeded"])
    const headers = { originator: "codex_exec", "user-agent": "codex_exec/0.160.0" }
    const { status, text } = yield* send("/v1/responses", { body: ask({ stream: true }), key, headers })
    assert.deepStrictEqual([status, typesIn(text).at(-1)], [200, "response.failed"])
    const { error } = eventsIn(text).at(-1).response
    assert.strictEqual(error.code, "rate_limit_exceeded")
    assert.match(error.message, /Please try again in \d+s\.$/)
    yield* TestClock.adjust("1 minute")
    const again = yield* send("/v1/responses", { body: ask({ stream: true }), key, headers })
    assert.strictEqual(typesIn(again.text).at(-1), "response.completed")
  }).pipe(Effect.provide(appOf({ reply: helloReply }, { tiers }).layer))
)

it.effect("an answer that the budget cut has failed, and one that the client's limit cut is incomplete", () => {
  const script: Script = {
    reply: {
      ...helloReply,
      choices: [{ index: 0, message: { role: "assistant", content: "Hel" }, finish_reason: "length" }]
    },
    events: [delta({ content: "Hel" }), finish("length"), end]
  }
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    // A token of the output costs 2,000 nano-USD. The cap has room for some hundred of them.
    const { secret: poor } = yield* issueKey({ monthlyBudgetNano: 600_000 })
    const { secret: rich } = yield* issueKey()
    for (const stream of [false, true]) {
      const asked = (key: string, more: Readonly<Record<string, unknown>> = {}) =>
        Effect.map(send("/v1/responses", { body: ask({ stream, ...more }), key }), ({ status, text }) => {
          assert.strictEqual(status, 200)
          return stream ? eventsIn(text).at(-1).response : JSON.parse(text)
        })
      assert.deepInclude(yield* asked(rich, { max_output_tokens: 20 }), {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        error: null
      })
      const cut = yield* asked(poor, { max_output_tokens: 1_000 })
      assert.deepInclude(cut, { status: "failed", incomplete_details: null })
      assert.strictEqual(cut.error.code, "insufficient_quota")
      assert.strictEqual(cut.output[0].content[0].text, "Hel")
    }
  }).pipe(Effect.provide(appOf(script).layer))
})

it.effect("puts masked values back into the text, but not into thoughts", () => {
  const email = "ann.smith@example.com"
  const thought = "[EMAIL_1] wants something."
  const script: Script = {
    reply: {
      ...helloReply,
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: { role: "assistant", content: "To [EMAIL_1]", reasoning: thought }
        }
      ]
    },
    events: [delta({ reasoning: thought }), delta({ content: "To [EMAIL_1]" }), finish(), end]
  }
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    for (const stream of [false, true]) {
      const { text } = yield* send("/v1/responses", { body: ask({ input: `I am ${email}`, stream }), key })
      assert.include(text, `To ${email}`)
      assert.include(text, thought)
    }
  }).pipe(Effect.provide(appOf(script, { privacy: { ...noPrivacy, mode: "mask" } }).layer))
})

it.effect("tools of a request come back as the client declared them", () => {
  const call = (index: number, name: string, given: unknown) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(given) }
  })
  const script: Script = {
    events: [
      delta({ tool_calls: [call(0, "apply_patch", { input: "*** Begin Patch" })] }),
      delta({ tool_calls: [call(1, "github__list", { state: "open" })] }),
      finish("tool_calls"),
      end
    ]
  }
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const tools = [
      { type: "custom", name: "apply_patch", format: { type: "grammar", syntax: "lark", definition: "start: x" } },
      { type: "namespace", name: "github", tools: [{ type: "function", name: "list", parameters: {} }] }
    ]
    const { text } = yield* send("/v1/responses", { body: ask({ tools, stream: true }), key })
    const { output } = eventsIn(text).at(-1).response
    assert.deepInclude(output[0], { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch" })
    assert.deepInclude(output[1], { type: "function_call", name: "list", namespace: "github" })
  }).pipe(Effect.provide(appOf(script).layer))
})

it.effect("refuses by name what it cannot translate and what is stored elsewhere, without a call", () => {
  const { layer, seen } = appOf({ reply: helloReply })
  return Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const file = { role: "user", content: [{ type: "input_file", file_id: "file_1" }] }
    for (const body of [ask({ tools: [{ type: "code_interpreter", container: "auto" }] }), ask({ input: [file] })]) {
      for (const stream of [false, true]) {
        const { status, text } = yield* send("/v1/responses", { body: { ...body, stream }, key })
        assert.strictEqual(status, 400)
        assert.strictEqual(JSON.parse(text).error.code, "unsupported_parameter")
      }
    }
    assert.strictEqual(seen.calls, 0)
  }).pipe(Effect.provide(layer))
})

it.effect("a late error is the end of the response that has begun", () => {
  const { layer, seen } = appOf(
    { delayMs: 40_000, failure: new Cut({ detail: "the test cut it" }) },
    {
      routing: { ...testSettings.routing, retries: 0 }
    }
  )
  return Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const stream = open(`${url}/v1/responses`, secret, ask({ stream: true }))
    yield* until(() => seen.calls > 0)
    yield* advanceUntil(stream.ended)
    const events = eventsIn(stream.text())
    assert.strictEqual(events[0].type, "response.created")
    assert.strictEqual(events.at(-1).type, "response.failed")
    assert.strictEqual(events.at(-1).response.id, events[0].response.id)
    assert.deepInclude(events.at(-1).response.error, { code: "server_error" })
  }).pipe(Effect.provide(layer))
})
