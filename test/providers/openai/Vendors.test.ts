/**
 * What each vendor of the OpenAI dialect gets of the messages and members that vendors name
 * differently.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { type ChatCall } from "../../../src/providers/Provider.ts"
import { chatBody } from "../../support/upstream/Bodies.ts"
import { config, offer, replay } from "../replayedTransport.ts"

type Members = Readonly<Record<string, unknown>>

const openai = "https://api.openai.com/v1"
const unknown = "http://127.0.0.1:1/v1"

/** The body that the vendor at `baseUrl` gets. */
const sentTo = Effect.fnUntraced(function* (
  baseUrl: string,
  members: Members,
  model: Partial<typeof offer> = {},
  leftOut?: ChatCall["leftOut"]
) {
  const bodies: Array<Record<string, unknown>> = []
  const provider = makeOpenAi(
    config({ baseUrl }),
    replay({
      chunks: [Buffer.from(JSON.stringify(chatBody()))],
      type: "application/json",
      onSend: (_path, body) => void bodies.push(JSON.parse(body))
    })
  )
  const request = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false, ...members }
  const call = { request: request as ChatRequest, offer: { ...offer, ...model } }
  yield* provider.chat(leftOut === undefined ? call : { ...call, leftOut })
  return bodies[0] ?? {}
})

const messageTo = (baseUrl: string, message: Members, upstream = "small-2026") =>
  Effect.map(sentTo(baseUrl, { messages: [message] }, { upstream }), ({ messages }) => (messages as Array<unknown>)[0])

describe("roles", () => {
  it.effect.each([
    [openai, "developer"],
    ["https://eu.api.openai.com/v1", "developer"],
    ["https://acme.openai.azure.com/openai/v1", "developer"],
    ["https://api.openai.com.example.org/v1", "system"],
    ["https://api.groq.com/openai/v1", "system"],
    [unknown, "system"]
  ] as const)(
    "%s gets developer as %s",
    Effect.fnUntraced(function* ([baseUrl, role]) {
      const message = { role: "developer", content: "Be brief." }
      assert.deepStrictEqual(yield* messageTo(baseUrl, message), { ...message, role })
    })
  )
})

describe("reasoning that is sent back", () => {
  const details = [{ type: "reasoning.encrypted", data: "c2VjcmV0", index: 0 }]
  const calls = [{ id: "call00001", type: "function", function: { name: "f", arguments: "{}" } }]
  const turn = { role: "assistant", content: null, tool_calls: calls }
  const told = { ...turn, reasoning: "Hm.", reasoning_content: "Hm.", reasoning_details: details }

  it.effect.each([
    [openai, {}],
    ["https://api.mistral.ai/v1", {}],
    ["https://api.deepseek.com/v1", { reasoning_content: "Hm." }],
    ["https://api.x.ai/v1", { reasoning_content: "Hm." }],
    ["https://api.fireworks.ai/inference/v1", { reasoning_content: "Hm." }],
    ["https://api.cerebras.ai/v1", { reasoning: "Hm." }],
    ["https://openrouter.ai/api/v1", { reasoning: "Hm.", reasoning_details: details }],
    [unknown, { reasoning: "Hm.", reasoning_content: "Hm.", reasoning_details: details }]
  ] as const)(
    "goes to %s in its own form",
    Effect.fnUntraced(function* ([baseUrl, form]) {
      assert.deepStrictEqual(yield* messageTo(baseUrl, told), { ...turn, ...form })
      // A client that keeps only one of the names.
      const { reasoning_details: _, ...text } = form as Members
      for (const name of ["reasoning", "reasoning_content"]) {
        assert.deepStrictEqual(yield* messageTo(baseUrl, { ...turn, [name]: "Hm." }), { ...turn, ...text })
      }
    })
  )

  it.effect("goes only to those models of Groq that take it", () =>
    Effect.gen(function* () {
      const groq = "https://api.groq.com/openai/v1"
      assert.deepStrictEqual(yield* messageTo(groq, told, "openai/gpt-oss-120b"), { ...turn, reasoning: "Hm." })
      assert.deepStrictEqual(yield* messageTo(groq, told, "llama-3.3-70b-versatile"), turn)
    })
  )

  it.effect("leaves an empty text where nothing else is sent", () =>
    Effect.gen(function* () {
      const thought = { role: "assistant", content: null, reasoning: "Hm." }
      assert.deepStrictEqual(yield* messageTo(openai, thought), { role: "assistant", content: "" })
      assert.deepStrictEqual(yield* messageTo("https://api.deepseek.com/v1", thought), {
        role: "assistant",
        content: null,
        reasoning_content: "Hm."
      })
    })
  )
})

describe("members that a vendor refuses", () => {
  it.effect("are left out of messages, and a refusal becomes the content", () =>
    Effect.gen(function* () {
      const reply = { role: "assistant", content: null, refusal: "I cannot.", annotations: [], audio: null }
      const mistral = "https://api.mistral.ai/v1"
      assert.deepStrictEqual(yield* messageTo(mistral, reply), { role: "assistant", content: "I cannot." })
      assert.deepStrictEqual(yield* messageTo(mistral, { role: "user", content: "Hi", name: "ann" }), {
        role: "user",
        content: "Hi"
      })
      assert.deepStrictEqual(yield* messageTo(openai, reply), reply)
    })
  )

  it.effect("tool calls get ids that Mistral takes, and calls of the older kind become tool calls", () =>
    Effect.gen(function* () {
      const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })
      const { messages } = yield* sentTo("https://api.mistral.ai/v1", {
        messages: [
          { role: "assistant", content: null, tool_calls: [call("call_PTLP8xhu3uwZk4l3nlnrrJha"), call("abcDEF123")] },
          { role: "tool", tool_call_id: "call_PTLP8xhu3uwZk4l3nlnrrJha", content: "1" },
          { role: "tool", tool_call_id: "abcDEF123", content: "2" },
          { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
          { role: "function", name: "f", content: "3" }
        ]
      })
      interface Sent {
        readonly role: string
        readonly content: unknown
        readonly tool_call_id?: string
        readonly tool_calls?: ReadonlyArray<{ readonly id: string }>
      }
      const [made, first, second, older, result] = messages as ReadonlyArray<Sent>
      const [long, short] = made?.tool_calls ?? []
      assert.deepStrictEqual([short?.id, second?.tool_call_id], ["abcDEF123", "abcDEF123"])
      assert.match(long?.id ?? "", /^[a-zA-Z0-9]{9}$/)
      assert.strictEqual(first?.tool_call_id, long?.id)
      assert.match(result?.tool_call_id ?? "", /^[a-zA-Z0-9]{9}$/)
      assert.strictEqual(result?.tool_call_id, older?.tool_calls?.[0]?.id)
      assert.deepInclude(result, { role: "tool", content: "3" })
    })
  )

  it.effect("cache_control goes to everyone but OpenAI", () =>
    Effect.gen(function* () {
      const cache_control = { type: "ephemeral" }
      const message = { role: "user", content: [{ type: "text", text: "long", cache_control }], cache_control }
      const tools = [{ type: "function", function: { name: "f" }, cache_control }]
      const plain = yield* sentTo(openai, { messages: [message], tools })
      assert.deepStrictEqual(plain["messages"], [{ role: "user", content: [{ type: "text", text: "long" }] }])
      assert.deepStrictEqual(plain["tools"], [{ type: "function", function: { name: "f" } }])
      assert.deepInclude(yield* sentTo(unknown, { messages: [message], tools }), { messages: [message], tools })
    })
  )

  it.effect("a session is OpenAI's cache key, and top_k is not sent there", () =>
    Effect.gen(function* () {
      const members = { session_id: "chat-7", top_k: 40, verbosity: "low", safety_identifier: "user-1" }
      const sent = yield* sentTo(openai, members)
      assert.deepInclude(sent, { prompt_cache_key: "chat-7", verbosity: "low", safety_identifier: "user-1" })
      assert.doesNotHaveAnyKeys(sent, ["session_id", "top_k"])
      assert.deepInclude(yield* sentTo(unknown, members), members)
    })
  )
})

describe("asking for reasoning", () => {
  const asked = {
    reasoning: { reasoning: { effort: "high" } },
    budget: { reasoning: { max_tokens: 4_000 } },
    thinking: { thinking: { type: "enabled", budget_tokens: 20_000 } },
    off: { thinking: { type: "disabled" } },
    both: { reasoning_effort: "low", reasoning: { summary: "auto", max_tokens: 4_000 } }
  }
  it.effect.each([
    [openai, "reasoning", { reasoning_effort: "high" }],
    [openai, "budget", { reasoning_effort: "medium" }],
    [openai, "thinking", { reasoning_effort: "high" }],
    [openai, "off", {}],
    ["https://openrouter.ai/api/v1", "reasoning", asked.reasoning],
    ["https://openrouter.ai/api/v1", "thinking", { reasoning: { max_tokens: 20_000 } }],
    ["https://openrouter.ai/api/v1", "off", { reasoning: { enabled: false } }],
    ["https://openrouter.ai/api/v1", "both", { reasoning: { summary: "auto", effort: "low" } }],
    [openai, "both", { reasoning_effort: "low" }],
    ["https://api.deepseek.com/v1", "thinking", asked.thinking],
    ["https://api.deepseek.com/v1", "reasoning", { thinking: { type: "enabled" } }],
    ["https://api.mistral.ai/v1", "reasoning", {}],
    [unknown, "reasoning", asked.reasoning],
    [unknown, "thinking", asked.thinking]
  ] as const)(
    "%s, %s",
    Effect.fnUntraced(function* ([baseUrl, name, expected]) {
      const sent = yield* sentTo(baseUrl, asked[name], { hidesReasoning: true })
      const members = ["reasoning", "reasoning_effort", "thinking"].filter((member) => member in sent)
      assert.deepStrictEqual(Object.fromEntries(members.map((member) => [member, sent[member]])), expected)
    })
  )

  it.effect("names what it leaves out", () =>
    Effect.gen(function* () {
      const leftOut: Array<string> = []
      const named = (members: ReadonlyArray<string>) => void leftOut.push(...members)
      const body = yield* sentTo(openai, { ...asked.thinking, top_k: 7, cache_control: {} }, {}, named)
      assert.deepStrictEqual(leftOut, ["thinking", "top_k"])
      assert.doesNotHaveAnyKeys(body, ["thinking", "top_k", "cache_control"])
      yield* sentTo(openai, asked.thinking, { hidesReasoning: true }, named)
      yield* sentTo(unknown, { ...asked.thinking, top_k: 7 }, {}, named)
      assert.lengthOf(leftOut, 2)
    })
  )

  it.effect("leaves the client's own effort, and asks nothing of models that do not reason", () =>
    Effect.gen(function* () {
      const own = yield* sentTo(openai, { ...asked.reasoning, reasoning_effort: "low" }, { hidesReasoning: true })
      assert.strictEqual(own["reasoning_effort"], "low")
      assert.doesNotHaveAnyKeys(own, ["reasoning"])
      assert.doesNotHaveAnyKeys(yield* sentTo(openai, asked.reasoning), ["reasoning", "reasoning_effort"])
    })
  )
})
