/** The roles `developer` and `function` in the dialects that do not have them. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeAnthropic } from "../../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../../src/providers/gemini/Gemini.ts"
import { makeResponses } from "../../../src/providers/responses/Responses.ts"
import { inCommonRoles } from "../../../src/providers/wire/CommonRoles.ts"
import { config, offer, replay } from "../replayedTransport.ts"

const messages: ChatRequest["messages"] = [
  { role: "developer", content: "Be brief." },
  { role: "user", content: "Weather?" },
  { role: "assistant", content: null, function_call: { name: "weather", arguments: '{"city":"Rome"}' } },
  { role: "function", name: "weather", content: "sunny" },
  { role: "assistant", content: null, audio: { id: "audio_1", transcript: "It is sunny." } },
  { role: "user", content: "Thanks." }
]

it("a call of a function becomes a tool call, its result the tool's, a spoken answer its transcript", () => {
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }
  assert.deepStrictEqual(inCommonRoles(messages), [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather?" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", name: "weather", content: "sunny", tool_call_id: "call_1" },
    { role: "assistant", content: "It is sunny." },
    { role: "user", content: "Thanks." }
  ])
})

it.effect.each([
  ["anthropic", makeAnthropic, "claude-sonnet-4-5", ["system", 0, "text"], '"tool_result"'],
  ["gemini", makeGemini, "gemini-3.5-flash", ["systemInstruction", "parts", 0, "text"], '"functionResponse"'],
  ["bedrock", makeBedrock, "amazon.nova-pro-v1:0", ["system", 0, "text"], '"toolResult"'],
  ["responses", makeResponses, "gpt-5", ["instructions"], '"function_call_output"']
] as const)(
  "%s gets them in its own form",
  Effect.fnUntraced(function* ([, make, upstream, system, result]) {
    const bodies: Array<string> = []
    const provider = make(
      config(),
      replay({ chunks: [Buffer.from("{}")], type: "application/json", onSend: (_path, body) => void bodies.push(body) })
    )
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }]
    const request: ChatRequest = { model: "test/small", messages, tools, stream: false }
    yield* Effect.ignore(provider.chat({ request, offer: { ...offer, upstream, api: "responses" } }))
    const [body = ""] = bodies
    const told = system.reduce<unknown>((value, key) => Reflect.get(Object(value), key), JSON.parse(body))
    assert.strictEqual(told, "Be brief.")
    for (const text of [result, "sunny", "It is sunny.", "Thanks."]) assert.include(body, text)
  })
)
