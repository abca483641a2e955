/**
 * Recorded streams of vendors, replayed to the gateway: a client's library assembles from the
 * gateway's answer what it assembles from the vendor's own.
 */
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type DialectName, type ModelOffer } from "../../src/domain/Catalog.ts"
import { Transport } from "../../src/providers/transport/Transport.ts"
import { config, fixture, offer, replay } from "../providers/replayedTransport.ts"
import { assembledResponse } from "../support/responseEvents.ts"
import { TestApp } from "../support/TestApp.ts"
import { testSettings } from "../support/testSettings.ts"

/** A gateway whose provider answers with the file. */
const gatewayOf = (file: string, dialect: DialectName, api: ModelOffer["api"] = "chat") =>
  TestApp.layer({
    transport: Layer.succeed(Transport, {
      endpoint: (config, path) => replay({ chunks: [fixture(file)] }).endpoint(config, path)
    }),
    settings: {
      routing: { ...testSettings.routing, retries: 0 },
      providers: [config({ dialect, models: [{ ...offer, api }] })]
    }
  })

const asked: Anthropic.MessageCreateParamsStreaming = {
  model: "test/small",
  max_tokens: 1_000,
  stream: true,
  messages: [{ role: "user", content: "Hi" }]
}

const messageBy = (client: Anthropic) => Effect.promise(() => client.messages.stream(asked).finalMessage())

/** The message of the vendor's own bytes. */
const vendorsMessage = (file: string) =>
  messageBy(
    new Anthropic({
      apiKey: "none",
      fetch: () =>
        Promise.resolve(
          new Response(new Uint8Array(fixture(file)), { headers: { "content-type": "text/event-stream" } })
        )
    })
  )

/** The gateway in front of the recording, and a client's key. */
const served = Effect.fnUntraced(function* (...provider: Parameters<typeof gatewayOf>) {
  const { issueKey, url } = Context.get(yield* Layer.build(gatewayOf(...provider)), TestApp)
  return { url, apiKey: (yield* issueKey()).secret, maxRetries: 0 }
})

const ourMessage = (...provider: Parameters<typeof gatewayOf>) =>
  Effect.flatMap(served(...provider), ({ url, ...options }) => messageBy(new Anthropic({ ...options, baseURL: url })))

const ourResponse = (...provider: Parameters<typeof gatewayOf>) =>
  Effect.flatMap(served(...provider), ({ url, ...options }) =>
    Effect.promise(() =>
      new OpenAI({ ...options, baseURL: `${url}/v1` }).responses
        .stream({ model: "test/small", input: "Hi", tools: [{ type: "custom", name: "code_exec" }] })
        .finalResponse()
    )
  )

/** What the vendor signed, in whatever a client carries for it. */
const sealed = (carrier: string): string => {
  if (!carrier.startsWith("tg1_")) return carrier
  const detail = JSON.parse(Buffer.from(carrier.slice(4), "base64url").toString("utf8"))
  return detail.signature ?? detail.data
}

type Said = Readonly<Record<string, unknown>>

/** Blocks and items in one form. Texts that follow each other are joined: they are one answer. */
const joined = (said: ReadonlyArray<Said>): ReadonlyArray<Said> =>
  said.reduce<ReadonlyArray<Said>>((before, one) => {
    const last = before.at(-1)
    return typeof last?.["text"] === "string" && typeof one["text"] === "string"
      ? [...before.slice(0, -1), { text: last["text"] + one["text"] }]
      : [...before, one]
  }, [])

const blocksOf = ({ content }: Anthropic.Message) =>
  joined(
    content.map((block) => {
      switch (block.type) {
        case "text":
          return { text: block.text }
        case "thinking":
          return { thinking: block.thinking, seal: sealed(block.signature) }
        case "redacted_thinking":
          return { thinking: "", seal: sealed(block.data) }
        case "tool_use":
          return { id: block.id, name: block.name, input: block.input }
        default:
          return assert.fail(`a block of type ${block.type}`)
      }
    })
  )

/** The usage of a response, in the order of `countsOf`. */
const promptOf = (usage: ReturnType<typeof JSON.parse>) => {
  const { cache_write_tokens: written = 0, cached_tokens: read } = usage.input_tokens_details
  return [usage.input_tokens - read - written, read, written, usage.output_tokens]
}

const countsOf = ({ usage }: Anthropic.Message) => [
  usage.input_tokens,
  usage.cache_read_input_tokens ?? 0,
  usage.cache_creation_input_tokens ?? 0,
  usage.output_tokens
]

/** What the items of a response say, in the form of `blocksOf`. */
const itemsOf = (output: ReadonlyArray<ReturnType<typeof JSON.parse>>) =>
  joined(
    output.flatMap((item): ReadonlyArray<Said> => {
      switch (item.type) {
        case "message":
          return item.content.map((part: Said) => ({ text: part["text"] ?? part["refusal"] }))
        case "function_call":
          return [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments || "{}") }]
        case "custom_tool_call":
          return [{ id: item.call_id, name: item.name, input: item.input }]
        case "reasoning":
          return item.summary.map(({ text }: Said) => ({ thinking: text }))
        default:
          return []
      }
    })
  )

const said = (block: Said) =>
  "thinking" in block ? (block["thinking"] === "" ? [] : [{ thinking: block["thinking"] }]) : [block]

const anthropic = (name: string) => `anthropic-stream-${name}.sse`
const responses = (name: string) => `responses-stream-${name}.sse`

it.effect.each(["cache", "citations", "interleaved", "refusal", "text", "thinking", "tools"])(
  "Anthropic's stream on the Messages API is the vendor's message: %s",
  (name) =>
    Effect.gen(function* () {
      const theirs = yield* vendorsMessage(anthropic(name))
      const ours = yield* ourMessage(anthropic(name), "anthropic")
      const unsealed = ours.content.map((block) =>
        block.type === "thinking"
          ? { ...block, signature: sealed(block.signature) }
          : block.type === "redacted_thinking"
            ? { ...block, data: sealed(block.data) }
            : block
      )
      assert.deepStrictEqual(unsealed, theirs.content)
      // A call that was sent is to be answered, whatever the vendor's last event said.
      const hasCalls = theirs.content.some(({ type }) => type === "tool_use")
      assert.strictEqual(ours.stop_reason, hasCalls ? "tool_use" : theirs.stop_reason)
      assert.deepStrictEqual(ours.stop_details, theirs.stop_details)
      assert.deepStrictEqual(countsOf(ours), countsOf(theirs))
      assert.strictEqual(ours.model, asked.model)
    }).pipe(Effect.scoped)
)

it.effect.each(["annotations", "reasoning", "refusal", "text", "tools"])(
  "OpenAI's stream of Responses on the Messages API says the same: %s",
  (name) =>
    Effect.gen(function* () {
      const { output, response } = assembledResponse(fixture(responses(name)).toString("utf8"))
      const ours = yield* ourMessage(responses(name), "openai", "responses")
      assert.deepStrictEqual(blocksOf(ours).flatMap(said), itemsOf(output))
      assert.deepStrictEqual(countsOf(ours), promptOf(response["usage"]))
    }).pipe(Effect.scoped)
)

it.effect.each(["cache", "citations", "interleaved", "text", "thinking", "tools"])(
  "Anthropic's stream on the Responses API says the same: %s",
  (name) =>
    Effect.gen(function* () {
      const theirs = yield* vendorsMessage(anthropic(name))
      const ours = yield* ourResponse(anthropic(name), "anthropic")
      assert.deepStrictEqual(itemsOf(ours.output), blocksOf(theirs).flatMap(said))
      assert.deepStrictEqual(promptOf(ours.usage), countsOf(theirs))
    }).pipe(Effect.scoped)
)

it.effect.each(["annotations", "custom", "reasoning", "refusal", "text", "tools"])(
  "OpenAI's stream on the Responses API says the same: %s",
  (name) =>
    Effect.gen(function* () {
      const { output, response } = assembledResponse(fixture(responses(name)).toString("utf8"))
      const ours = yield* ourResponse(responses(name), "openai", "responses")
      assert.deepStrictEqual(itemsOf(ours.output), itemsOf(output))
      assert.deepStrictEqual(promptOf(ours.usage), promptOf(response["usage"]))
    }).pipe(Effect.scoped)
)
