/**
 * Recorded streams of vendors, replayed to the gateway: a client's library assembles from the
 * gateway's answer what it assembles from the vendor's own.
 */
import Anthropic from "@anthropic-ai/sdk"
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

const oursOf = Effect.fnUntraced(function* (...provider: Parameters<typeof gatewayOf>) {
  const { issueKey, url } = Context.get(yield* Layer.build(gatewayOf(...provider)), TestApp)
  const { secret } = yield* issueKey()
  return yield* messageBy(new Anthropic({ apiKey: secret, baseURL: url, maxRetries: 0 }))
})

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

const countsOf = ({ usage }: Anthropic.Message) => [
  usage.input_tokens,
  usage.cache_read_input_tokens ?? 0,
  usage.cache_creation_input_tokens ?? 0,
  usage.output_tokens
]

it.effect.each(["cache", "citations", "interleaved", "text", "thinking", "tools"])(
  "Anthropic's stream on the Messages API: %s",
  (name) =>
    Effect.gen(function* () {
      const file = `anthropic-stream-${name}.sse`
      const theirs = yield* vendorsMessage(file)
      const ours = yield* oursOf(file, "anthropic")
      assert.deepStrictEqual(blocksOf(ours), blocksOf(theirs))
      assert.deepStrictEqual(countsOf(ours), countsOf(theirs))
      assert.strictEqual(ours.model, asked.model)
    }).pipe(Effect.scoped)
)

/** What the items of a response say, in the form of `blocksOf`. */
const itemsOf = (output: ReadonlyArray<ReturnType<typeof JSON.parse>>) =>
  joined(
    output.flatMap((item): ReadonlyArray<Said> => {
      switch (item.type) {
        case "message":
          return item.content.map((part: Said) => ({ text: part["text"] ?? part["refusal"] }))
        case "function_call":
          return [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments || "{}") }]
        case "reasoning":
          return item.summary.map(({ text }: Said) => ({ thinking: text }))
        default:
          return []
      }
    })
  )

it.effect.each(["annotations", "reasoning", "refusal", "text", "tools"])(
  "OpenAI's stream of Responses on the Messages API: %s",
  (name) =>
    Effect.gen(function* () {
      const file = `responses-stream-${name}.sse`
      const { output, response } = assembledResponse(fixture(file).toString("utf8"))
      const ours = yield* oursOf(file, "openai", "responses")
      const said = blocksOf(ours).flatMap((block) => {
        const { thinking } = block
        return thinking === undefined ? [block] : thinking === "" ? [] : [{ thinking }]
      })
      assert.deepStrictEqual(said, itemsOf(output))
      const {
        input_tokens: prompt,
        input_tokens_details: details,
        output_tokens
      } = response["usage"] as ReturnType<typeof JSON.parse>
      assert.deepStrictEqual(countsOf(ours), [
        prompt - details.cached_tokens - (details.cache_write_tokens ?? 0),
        details.cached_tokens,
        details.cache_write_tokens ?? 0,
        output_tokens
      ])
    }).pipe(Effect.scoped)
)
