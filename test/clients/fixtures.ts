/** The answers of the client tests' model provider, by the last user message. */
import { type FixtureFileEntry } from "@copilotkit/aimock"

export const hello = {
  prompt: "say hello",
  content: "Hello there, my friend.",
  usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }
}

/** Two calls of one function, with awkward arguments. */
export const parallelCalls = {
  prompt: "weather in two places",
  calls: [
    { id: "call_zurich", name: "get_weather", arguments: `{"place":"Zürich \\"old town\\" 🏔","days":[1,2]}` },
    { id: "call_tokyo", name: "get_weather", arguments: `{ "place": "東京", "unit": "c" }` }
  ],
  after: "Both are sunny.",
  usage: { prompt_tokens: 40, completion_tokens: 30, total_tokens: 70 }
}

export const structured = {
  prompt: "who was the first programmer",
  schema: {
    type: "object",
    properties: { name: { type: "string" }, born: { type: "integer" } },
    required: ["name", "born"],
    additionalProperties: false
  },
  content: `{"name":"Ada Lovelace","born":1815}`
}

/** One pixel. */
export const picture = {
  prompt: "what is in this picture",
  url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  content: "One pixel."
}

export const thinking = {
  prompt: "think aloud",
  thought: "Let me think about it.",
  content: "Thought."
}

/** A signed thought before a call. Anthropic refuses the call's result without it. */
export const thoughtfulCall = {
  prompt: "think, then ask for the weather",
  thought: "I need the weather.",
  signature: "EqQBCgIYAhIkZjJiNWQ2+signed/by=the=provider",
  call: { id: "call_bern", name: "get_weather", arguments: `{"place":"Bern"}` },
  after: "It is sunny in Bern."
}

/** A provider that refuses what is too long. */
export const overflow = { prompt: "read this very long book" }

/** A provider that fails. */
export const broken = { prompt: "break down" }

/** Exact in 32 bits, so that base64 returns the same numbers. */
export const vector = [0.5, -0.25, 0.125, 1, -2]

export const weatherTool = {
  name: "get_weather",
  description: "Tells the weather of a place.",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] }
}

const { usage } = hello

/** Anthropic's own words, which its clients know, and those of others. */
export const overflowFixtures: ReadonlyArray<FixtureFileEntry> = [
  { model: "claude-sonnet-4-5", message: "prompt is too long: 9000 tokens > 8000 maximum" },
  { message: "This model's maximum context length is 8000 tokens, but your messages have 9000 tokens." }
].map(({ message, ...match }) => ({
  match: { userMessage: overflow.prompt, ...match },
  response: {
    status: 400,
    error: { message, type: "invalid_request_error", code: "context_length_exceeded" }
  }
}))

export const fixtures: ReadonlyArray<FixtureFileEntry> = [
  { match: { userMessage: hello.prompt }, response: { content: hello.content, usage } },
  {
    match: { userMessage: parallelCalls.prompt, hasToolResult: false },
    response: { toolCalls: parallelCalls.calls, usage: parallelCalls.usage }
  },
  {
    match: { userMessage: parallelCalls.prompt, hasToolResult: true },
    response: { content: parallelCalls.after, usage }
  },
  {
    match: { userMessage: structured.prompt, responseFormat: "json_schema" },
    response: { content: structured.content, usage }
  },
  { match: { userMessage: picture.prompt }, response: { content: picture.content, usage } },
  {
    match: { userMessage: thinking.prompt },
    response: { content: thinking.content, reasoning: thinking.thought, usage }
  },
  {
    match: { userMessage: thoughtfulCall.prompt, hasToolResult: false },
    response: {
      reasoning: thoughtfulCall.thought,
      reasoningSignature: thoughtfulCall.signature,
      toolCalls: [thoughtfulCall.call],
      usage
    }
  },
  {
    match: { userMessage: thoughtfulCall.prompt, hasToolResult: true },
    response: { content: thoughtfulCall.after, usage }
  },
  ...overflowFixtures,
  {
    match: { userMessage: broken.prompt },
    response: { status: 500, error: { message: "It broke.", type: "server_error" } }
  },
  { match: { endpoint: "embedding" }, response: { embedding: vector } }
]
