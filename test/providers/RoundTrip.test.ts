/**
 * Reasoning on its way to the client and back: the blocks of a reply, streamed or whole, are the
 * blocks of the next request, byte for byte. Another provider gets no signature of them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatMessage, type ChatRequest } from "../../src/domain/Chat.ts"
import { replayEvents } from "../../src/domain/Replay.ts"
import { ReplyAssembler } from "../../src/gateway/reply/ReplyAssembler.ts"
import { makeAnthropic } from "../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../src/providers/gemini/Gemini.ts"
import { type Provider } from "../../src/providers/Provider.ts"
import { type Transport } from "../../src/providers/transport/Transport.ts"
import { event } from "./bedrock.ts"
import { config, fixture, offer, replay, type Replay } from "./replayedTransport.ts"

interface Vendor {
  readonly name: string
  readonly make: (slug: string, transport: Transport["Service"]) => Provider
  readonly upstream: string
  readonly stream: Replay
  /** The assistant's blocks in the next request. */
  readonly blocks: ReadonlyArray<object>
  readonly blocksOf: (body: string) => unknown
  readonly signatures: ReadonlyArray<string>
}

const use = (id: string, location: string) => ({ type: "tool_use", id, name: "get_weather", input: { location } })
const first = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk="
const second = "EuYBCkQIBxgCIkC7vXE+4rK1mQ2cY8pT0aN6wZ3hGdL5s9fJ"
const redacted = "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw"

const delta = (contentBlockIndex: number, part: object) =>
  event("contentBlockDelta", { contentBlockIndex, delta: part })
const thought = (contentBlockIndex: number, part: object) => delta(contentBlockIndex, { reasoningContent: part })
const converse = Buffer.concat([
  event("messageStart", { role: "assistant" }),
  thought(0, { text: "Two " }),
  thought(0, { text: "cities." }),
  thought(0, { signature: first }),
  event("contentBlockStop", { contentBlockIndex: 0 }),
  thought(1, { redactedContent: redacted }),
  delta(2, { text: "Let me look." }),
  event("contentBlockStop", { contentBlockIndex: 2 }),
  event("contentBlockStart", { contentBlockIndex: 3, start: { toolUse: { toolUseId: "t1", name: "get_weather" } } }),
  delta(3, { toolUse: { input: '{"location":"Paris"}' } }),
  event("contentBlockStop", { contentBlockIndex: 3 }),
  event("messageStop", { stopReason: "end_turn" }),
  event("metadata", { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } })
])

const vendors: ReadonlyArray<Vendor> = [
  {
    name: "anthropic",
    make: (slug, transport) => makeAnthropic(config({ slug, dialect: "anthropic" }), transport),
    upstream: "claude-sonnet-4-5",
    stream: { chunks: [fixture("anthropic-stream-interleaved.sse")] },
    blocks: [
      { type: "thinking", thinking: "Two cities: Paris, then Bogotá.", signature: first },
      { type: "text", text: "Let me check 東京." },
      { type: "redacted_thinking", data: redacted },
      { type: "thinking", thinking: "Both at once.", signature: second },
      use("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "Paris"),
      use("toolu_01A09q90qw90lq917835lq9", "Bogotá")
    ],
    blocksOf: (body) => JSON.parse(body).messages[1].content,
    signatures: [first, second, redacted]
  },
  {
    name: "bedrock",
    make: (slug, transport) => makeBedrock(config({ slug, dialect: "bedrock" }), transport),
    upstream: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    stream: { chunks: [converse], type: "application/vnd.amazon.eventstream" },
    blocks: [
      { reasoningContent: { reasoningText: { text: "Two cities.", signature: first } } },
      { reasoningContent: { redactedContent: redacted } },
      { text: "Let me look." },
      { toolUse: { toolUseId: "t1", name: "get_weather", input: { location: "Paris" } } }
    ],
    blocksOf: (body) => JSON.parse(body).messages[1].content,
    signatures: [first, redacted]
  },
  {
    name: "gemini",
    make: (slug, transport) => makeGemini(config({ slug, dialect: "gemini" }), transport),
    upstream: "gemini-3-pro-image-preview",
    stream: { chunks: [fixture("gemini-stream-signatures.sse")] },
    blocks: [
      { text: "", thought: true, thoughtSignature: "CgkBTHNnbkE=" },
      { text: "Here is 東京: " },
      { text: "see below", thoughtSignature: "CgkBTHNnbkI=" },
      { text: "", thoughtSignature: "CgkBTHNnbkU=" },
      { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" }, thoughtSignature: "CgkBTHNnbkM=" },
      { functionCall: { id: "f1", name: "show", args: { at: "Paris" } }, thoughtSignature: "CgkBTHNnbkQ=" }
    ],
    blocksOf: (body) => JSON.parse(body).contents[1].parts,
    signatures: ["CgkBTHNnbkE=", "CgkBTHNnbkI=", "CgkBTHNnbkM=", "CgkBTHNnbkQ=", "CgkBTHNnbkU="]
  }
]

const tools = ["get_weather", "show"].map((name) => ({ type: "function", function: { name } }))
const request: ChatRequest = {
  model: "test/small",
  messages: [{ role: "user", content: "Paris and Bogotá?" }],
  tools,
  reasoning: { max_tokens: 2_000 },
  stream: true
}

const eventsOf = ({ make, stream, upstream }: Vendor) =>
  Effect.scoped(
    Effect.flatMap(make("alpha", replay(stream)).chatStream({ request, offer: { ...offer, upstream } }), (events) =>
      Stream.runCollect(events.stream)
    )
  )

/** The message of a stream, as a client assembles it. */
const assembled = (events: ReadonlyArray<ChatEvent>) => {
  const assembler = new ReplyAssembler()
  for (const each of events) assembler.add(each)
  const reply = assembler.build()
  return reply ?? assert.fail("the stream has no end")
}

/** The body of the request that follows a message of the assistant. */
const following = ({ make, upstream }: Vendor, slug: string, message: unknown): string => {
  const sent: Array<string> = []
  const transport = replay({ chunks: [], onSend: (_path, body) => void sent.push(body) })
  const assistant = message as ChatMessage
  const results = (assistant.tool_calls ?? []).map(({ id }): ChatMessage => ({
    role: "tool",
    tool_call_id: String(id),
    content: "19°"
  }))
  const next: ChatRequest = { ...request, stream: false, messages: [...request.messages, assistant, ...results] }
  Effect.runSyncExit(make(slug, transport).chat({ request: next, offer: { ...offer, upstream } }))
  return sent[0] ?? assert.fail("nothing was sent")
}

describe.each(vendors)("reasoning of $name", (vendor) => {
  it.effect("comes back as the blocks that it was, by a stream cut anywhere and out of the prompt cache", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf(vendor)
      const { choices } = assembled(events)
      const message = choices[0]?.message
      assert.strictEqual(choices[0]?.finish_reason, "tool_calls")
      assert.deepStrictEqual(vendor.blocksOf(following(vendor, "alpha", message)), vendor.blocks)
      const replayed = assembled(replayEvents(assembled(events)))
      assert.deepStrictEqual(replayed.choices, choices)
      const bytes = Buffer.concat([...vendor.stream.chunks])
      for (let at = 1; at < bytes.length; at++) {
        const chunks = [bytes.subarray(0, at), bytes.subarray(at)]
        assert.deepStrictEqual(yield* eventsOf({ ...vendor, stream: { ...vendor.stream, chunks } }), events, `${at}`)
      }
    })
  )

  it.effect("goes to the provider that made it and to no other", () =>
    Effect.gen(function* () {
      const message = assembled(yield* eventsOf(vendor)).choices[0]?.message
      for (const other of vendors) {
        const body = following(other, other === vendor ? "beta" : other.name, message)
        for (const signature of vendor.signatures) assert.notInclude(body, signature, other.name)
      }
    })
  )

  it.effect("is recognised by its format where a client drops the provider", () =>
    Effect.gen(function* () {
      const message: Record<string, unknown> = assembled(yield* eventsOf(vendor)).choices[0]?.message ?? {}
      const details = (message["reasoning_details"] as ReadonlyArray<Record<string, unknown>>).map(
        ({ provider: _provider, ...detail }) => detail
      )
      const kept = { ...message, reasoning_details: details }
      assert.deepStrictEqual(vendor.blocksOf(following(vendor, "alpha", kept)), vendor.blocks)
      const foreign = details.map((detail) => ({ ...detail, format: "openai-responses-v1" }))
      const body = following(vendor, "alpha", { ...message, reasoning_details: foreign })
      for (const { data, signature } of details) {
        for (const seal of [data, signature]) if (typeof seal === "string") assert.notInclude(body, seal)
      }
    })
  )
})

describe("thinking in a tool loop", () => {
  const [anthropic, bedrock] = vendors
  const thinks = (vendor: Vendor | undefined, message: unknown): boolean =>
    vendor !== undefined && following(vendor, "alpha", message).includes('"budget_tokens":2000')

  it.effect("goes on while its thoughts come back, and rests without them", () =>
    Effect.gen(function* () {
      for (const vendor of [anthropic, bedrock]) {
        if (vendor === undefined) continue
        const message = assembled(yield* eventsOf(vendor)).choices[0]?.message
        assert.isTrue(thinks(vendor, message))
        assert.isFalse(thinks(vendor, { ...message, reasoning_details: [] }))
      }
    })
  )

  it.effect("keeps thoughts in front where the other blocks have changed, and out of a prefill", () =>
    Effect.gen(function* () {
      if (anthropic === undefined) return
      const message = assembled(yield* eventsOf(anthropic)).choices[0]?.message
      const blocks = anthropic.blocksOf(following(anthropic, "alpha", { ...message, content: null })) as Array<{
        readonly type: string
      }>
      assert.deepStrictEqual(
        blocks.map(({ type }) => type),
        ["thinking", "redacted_thinking", "thinking", "tool_use", "tool_use"]
      )
      const prefill = { ...message, content: "Once ", tool_calls: [] }
      assert.deepStrictEqual(anthropic.blocksOf(following(anthropic, "alpha", prefill)), [
        { type: "text", text: "Once" }
      ])
    })
  )
})
