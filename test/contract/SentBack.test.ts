/**
 * Every message that a reply brings is accepted in the next request, and reaches the provider as
 * the client sent it.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { joinedMember } from "../../src/gateway/reply/DeltaMembers.ts"
import { behind, type Mode, modes, useUpstream } from "../faults/gateway.ts"
import { chatBody, chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chunksOf } from "./wire.ts"

type Members = Readonly<Record<string, unknown>>

const upstream = useUpstream()

const calls = [
  { id: "call_1", type: "function", function: { name: "weather", arguments: `{"city":"Zürich"}` } },
  { id: "call_2", type: "function", function: { name: "weather", arguments: `{"city":"Rome"}` } }
]
const audio = { id: "audio_1", data: "UklGRg==", transcript: "Hello.", expires_at: 1_790_000_000 }
const details = [{ type: "reasoning.encrypted", data: "c2VjcmV0", index: 0 }]

const plain = [{ content: "Hello." }, "stop"] as const

/** What the provider answers, and the finish reason. */
const answers: Readonly<Record<string, readonly [Members, string]>> = {
  text: plain,
  "tool calls": [{ content: null, tool_calls: calls }, "tool_calls"],
  "tool calls beside text": [{ content: "Looking.", tool_calls: calls }, "tool_calls"],
  "a refusal": [{ content: null, refusal: "I cannot help with that." }, "stop"],
  audio: [{ content: null, audio }, "stop"],
  "a call of a function": [{ content: null, function_call: { name: "weather", arguments: "{}" } }, "function_call"],
  "reasoning and tool calls": [{ content: null, reasoning_content: "Hm.", tool_calls: calls }, "tool_calls"],
  "reasoning alone": [{ content: null, reasoning: "Hm." }, "length"],
  "encrypted reasoning alone": [{ content: null, reasoning_details: details }, "length"],
  nothing: [{ content: null }, "length"]
}

const behaviour = (mode: Mode, [message, finish]: readonly [Members, string]): Behaviour => {
  if (mode === "JSON") return { json: chatBody({ content: null, message, finish_reason: finish }) }
  const { tool_calls, ...rest } = message
  const delta =
    tool_calls === undefined ? rest : { ...rest, tool_calls: calls.map((call, index) => ({ ...call, index })) }
  return {
    chunks: [chunkBody({ role: "assistant", ...delta }), chunkBody({}, finish), usageChunkBody()].map(sse).concat(DONE)
  }
}

const withoutIndex = (call: Members): Members => {
  const { index: _, ...rest } = call
  return rest
}

/** The message as a client has it after a reply. */
const messageOf = (mode: Mode, text: string): Members => {
  if (mode === "JSON") return JSON.parse(text).choices[0].message
  const deltas = chunksOf(text).flatMap(({ choices }) => choices.map(({ delta }) => delta))
  const joined = deltas.reduce<unknown>((before, delta) => joinedMember("", before, delta), undefined) as Members
  const { tool_calls } = joined
  return {
    ...joined,
    content: joined["content"] ?? null,
    ...(Array.isArray(tool_calls) ? { tool_calls: tool_calls.map(withoutIndex) } : {})
  }
}

const cases = Object.entries(answers).flatMap(([name, answer]) => modes.map((mode) => [name, mode, answer] as const))

it.live.each(cases)(
  "%s, %s",
  Effect.fnUntraced(function* ([name, mode, answer]) {
    const { ask, called } = yield* behind(upstream(), {
      alpha: { does: [behaviour(mode, answer), behaviour(mode, plain)] }
    })
    const question = { role: "user", content: "What is the weather?" }
    const first = yield* ask(mode, { messages: [question] })
    assert.strictEqual(first.status, 200, first.text)
    const message = messageOf(mode, first.text)
    for (const [member, value] of Object.entries(answer[0])) {
      // The reply names who sealed the details.
      const told = value === details ? details.map((detail) => ({ ...detail, provider: "alpha" })) : value
      if (value !== null) assert.deepStrictEqual(message[member], told, member)
    }
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "sunny" }))
    const messages = [question, message, ...("tool_calls" in message ? results : [question])]
    const second = yield* ask(mode, { messages })
    assert.strictEqual(second.status, 200, second.text)
    const sent = (yield* called("alpha", ({ body }) => (body as { messages: Array<unknown> }).messages.length > 1)).body
    // Both names of reasoning go to a server that is not known; the details go back as they came.
    const expected = {
      ...message,
      ...(name === "nothing" ? { content: "" } : {}),
      ...("reasoning_details" in message ? { reasoning_details: details } : {})
    }
    assert.deepStrictEqual((sent as { messages: Array<unknown> }).messages, messages.with(1, expected))
  }, Effect.scoped)
)

it.live(
  "members that the gateway does not know keep every digit, and metadata stays whole",
  Effect.fnUntraced(function* () {
    const { ask, called } = yield* behind(upstream(), { alpha: { does: behaviour("JSON", plain) } })
    const session = JSON.rawJSON("1152921504606846977")
    const metadata = { mock: { latency_ms: 1 }, team: "blue" }
    const messages = [{ role: "user", content: "Hi", trace: { id: session } }]
    const { status, text } = yield* ask("JSON", { messages, metadata, session, logit_bias: null, n: 1 })
    assert.strictEqual(status, 200, text)
    const { body, rawBody } = yield* called("alpha")
    assert.strictEqual(rawBody.match(/1152921504606846977/g)?.length, 2)
    assert.deepInclude(body, { metadata, logit_bias: null, n: 1 })
  }, Effect.scoped)
)

it.live(
  "an empty result of a tool is an empty text",
  Effect.fnUntraced(function* () {
    const { ask, called } = yield* behind(upstream(), { alpha: { does: behaviour("JSON", plain) } })
    const messages = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Call." },
      { role: "assistant", tool_calls: calls },
      ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id })),
      { role: "assistant", function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: null }
    ]
    const { status, text } = yield* ask("JSON", { messages })
    assert.strictEqual(status, 200, text)
    const { body } = yield* called("alpha")
    assert.deepStrictEqual((body as { messages: Array<unknown> }).messages, [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Call." },
      { role: "assistant", tool_calls: calls },
      ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "" })),
      { role: "assistant", function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "" }
    ])
  }, Effect.scoped)
)
