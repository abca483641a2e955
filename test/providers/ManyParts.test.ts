/** Messages of as many parts as a body may have: each dialect sends them, without an overflow. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { makeAnthropic } from "../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../src/providers/gemini/Gemini.ts"
import { makeOpenAi } from "../../src/providers/openai/OpenAi.ts"
import { makeResponses } from "../../src/providers/responses/Responses.ts"
import { config, offer, replay } from "./replayedTransport.ts"

const PARTS = 160_000
const parts = Array.from({ length: PARTS }, () => ({ type: "text", text: "✓" }))
const request: ChatRequest = {
  model: "test/small",
  stream: false,
  messages: [
    { role: "system", content: parts },
    { role: "user", content: "b" },
    { role: "user", content: parts },
    { role: "assistant", content: parts },
    { role: "system", content: parts },
    { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "call_1", content: parts },
    { role: "user", content: parts }
  ]
}

it.effect.each([
  ["openai", makeOpenAi, {}],
  ["responses", makeResponses, { api: "responses" }],
  ["anthropic", makeAnthropic, { upstream: "claude-sonnet-4-5" }],
  ["gemini", makeGemini, { upstream: "gemini-3-flash" }],
  ["bedrock", makeBedrock, { upstream: "anthropic.claude-sonnet-4-5-v1:0" }]
] as const)("%s", ([, make, model]) =>
  Effect.gen(function* () {
    const bodies: Array<string> = []
    const transport = replay({ chunks: [], onSend: (_path, body) => void bodies.push(body) })
    yield* Effect.flip(make(config(), transport).chat({ request, offer: { ...offer, ...model } }))
    assert.lengthOf(bodies[0]?.match(/✓/g) ?? [], 6 * PARTS)
  })
)
