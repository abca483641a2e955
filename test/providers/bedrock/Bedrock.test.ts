import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeBedrock } from "../../../src/providers/bedrock/Bedrock.ts"
import { Malformed, Unsupported } from "../../../src/providers/Provider.ts"
import { Transport } from "../../../src/providers/transport/Transport.ts"
import { startAimock } from "../../support/aimock.ts"
import { bedrock, json, offerOf, request, SONNET } from "../bedrock.ts"
import { config, fixture, type Replay } from "../replayedTransport.ts"

const chat = (given: Replay, sent: ChatRequest = request()) =>
  bedrock(given).chat({ request: sent, offer: offerOf(SONNET) })
const reasonFor = (given: Replay, sent?: ChatRequest) =>
  Effect.map(Effect.flip(chat(given, sent)), (error) => error.reason)
const reply = (content: ReadonlyArray<object>, stopReason: string | null = "end_turn") =>
  json({ output: { message: { role: "assistant", content } }, stopReason })
const error = (status: number, message: string) => json({ message }, { status })

describe("Bedrock chat", () => {
  it.effect("reads reasoning, text, parallel calls and cached usage", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chat(json(fixture("bedrock-converse.json"))), {
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "Let me look.",
              tool_calls: [
                {
                  id: "tooluse_k1Rz",
                  type: "function",
                  function: { name: "get_weather", arguments: '{"location":"Paris"}' }
                },
                { id: "tooluse_Zt7m", type: "function", function: { name: "get_time", arguments: "{}" } }
              ],
              reasoning: "They want both.",
              reasoning_details: [
                {
                  type: "reasoning.text",
                  text: "They want both.",
                  signature: "EqQBCkgIARABGAIiQL8=",
                  format: "anthropic-claude-v1",
                  provider: "alpha",
                  index: 0
                },
                {
                  type: "reasoning.encrypted",
                  data: "ZW5jcnlwdGVk",
                  format: "anthropic-claude-v1",
                  provider: "alpha",
                  index: 1
                }
              ]
            },
            finish_reason: "tool_calls"
          }
        ],
        usage: { promptTokens: 1_287, completionTokens: 31, cachedTokens: 1_024, rare: { cache_write: 256 } },
        systemFingerprint: null
      })
    })
  )

  it.effect("reads text with its sources, and no usage", () =>
    Effect.gen(function* () {
      const source = { title: "T", location: { web: { url: "https://example.test", domain: "example.test" } } }
      const cited = { citationsContent: { content: [{ text: "b" }, { text: "c" }], citations: [source] } }
      const { choices, usage } = yield* chat(reply([{ text: "a" }, cited, { audio: {} }], "max_tokens"))
      const part = { start_index: 1, end_index: 3 }
      assert.deepStrictEqual(choices[0]?.message, {
        role: "assistant",
        content: "abc",
        citations: [{ ...source, ...part }],
        annotations: [{ type: "url_citation", url_citation: { ...part, url: "https://example.test", title: "T" } }]
      })
      assert.strictEqual(choices[0]?.finish_reason, "length")
      assert.isNull(usage)
    })
  )

  it.effect("reads images", () =>
    Effect.gen(function* () {
      const { choices } = yield* chat(reply([{ image: { format: "webp", source: { bytes: "AAAA" } } }, { image: {} }]))
      assert.deepStrictEqual(choices[0]?.message["images"], [
        { type: "image_url", image_url: { url: "data:image/webp;base64,AAAA" }, index: 0 }
      ])
    })
  )

  it.effect("gives the answering tool's arguments as the content", () =>
    Effect.gen(function* () {
      const sent = request({ response_format: { type: "json_object" } })
      const called = { toolUse: { toolUseId: "t", name: "json_answer", input: { a: [1] } } }
      const { choices } = yield* chat(reply([called], "tool_use"), sent)
      assert.deepStrictEqual(choices[0]?.message, { role: "assistant", content: '{"a":[1]}' })
      assert.strictEqual(choices[0]?.finish_reason, "stop")
    })
  )

  it.effect("names the model in the address", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const provider = bedrock(reply([{ text: "a" }]))
      const arn = "arn:aws:bedrock:us-east-1:111122223333:inference-profile/us.x"
      const listening = makeBedrock(provider.config, {
        endpoint: (_config, path) => (paths.push(path), { post: () => Effect.die(path), open: () => Effect.die(path) })
      })
      yield* Effect.exit(listening.chat({ request: request(), offer: offerOf(arn) }))
      yield* Effect.exit(Effect.scoped(listening.chatStream({ request: request(), offer: offerOf(SONNET) })))
      yield* Effect.exit(listening.chat({ request: request(), offer: offerOf(arn) }))
      assert.deepStrictEqual(paths, [
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A111122223333%3Ainference-profile%2Fus.x/converse",
        "/model/anthropic.claude-sonnet-4-20250514-v1%3A0/converse-stream"
      ])
    })
  )

  it.effect("refuses what it cannot express before anything is sent", () =>
    Effect.gen(function* () {
      const reason = yield* reasonFor(reply([{ text: "a" }]), request({ n: 2 }))
      assert.instanceOf(reason, Unsupported)
    })
  )

  it.effect("refuses what is no answer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reasonFor(json({})), new Malformed({ detail: "empty completion" }))
      assert.deepStrictEqual(
        yield* reasonFor(reply([], "malformed_model_output")),
        new Malformed({ detail: "malformed_model_output" })
      )
      assert.instanceOf(yield* reasonFor(json(Buffer.from("<html>"))), Malformed)
      assert.strictEqual((yield* chat(reply([]))).choices[0]?.message.content, "")
    })
  )

  it.effect.each([
    [400, "The model identifier is invalid.", "Rejected"],
    [404, "Could not resolve the foundation model from the model identifier.", "Rejected"],
    [403, "You don't have access to the model with the specified model ID.", "CredentialsRefused"],
    [408, "Model timed out.", "ServerFault"],
    [424, "The system encountered an error during processing.", "ServerFault"],
    [429, "Too many requests, please wait before trying again.", "Throttled"],
    [500, "The system encountered an unexpected error.", "ServerFault"],
    [503, "Bedrock is unable to process your request.", "ServerFault"]
  ] as const)(
    "%s is its reason, whole or streamed",
    Effect.fnUntraced(function* ([status, message, kind]) {
      const whole = yield* reasonFor(error(status, message))
      assert.strictEqual(whole._tag, kind)
      if (whole._tag === "Rejected") assert.strictEqual(whole.message, message)
      const opening = bedrock(error(status, message)).chatStream({
        request: request({ stream: true }),
        offer: offerOf(SONNET)
      })
      assert.deepStrictEqual((yield* Effect.flip(Effect.scoped(opening))).reason, whole)
    })
  )

  it.effect("knows a prompt that is too long", () =>
    Effect.gen(function* () {
      const reason = yield* reasonFor(error(400, "Input is too long for requested model."))
      assert.deepInclude(reason, { _tag: "Rejected", contextLength: true })
    })
  )
})

describe("Bedrock embeddings", () => {
  const embed = (given: Replay, upstream: string, input: string | ReadonlyArray<string>, rest: object = {}) =>
    bedrock(given).embed({ request: { model: "test/embed", input, ...rest }, offer: offerOf(upstream) })
  const TITAN = "amazon.titan-embed-text-v2:0"
  const COHERE = "cohere.embed-v4:0"

  it.effect("ask Titan once a text, in order, and add its tokens up", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const given = json(
        { embedding: [0.5, -1], inputTextTokenCount: 3 },
        {
          onSend: (path, body) => void sent.push([path, JSON.parse(body)])
        }
      )
      const answer = yield* embed(given, TITAN, ["a", "b"], { dimensions: 256, encoding_format: "base64" })
      const path = "/model/amazon.titan-embed-text-v2%3A0/invoke"
      assert.deepStrictEqual(sent, [
        [path, { inputText: "a", dimensions: 256 }],
        [path, { inputText: "b", dimensions: 256 }]
      ])
      assert.deepStrictEqual(answer, {
        vectors: [
          [0.5, -1],
          [0.5, -1]
        ],
        usage: { promptTokens: 6, completionTokens: 0, cachedTokens: 0 }
      })
    })
  )

  it.effect("ask Cohere for up to 96 texts a call, by type", () =>
    Effect.gen(function* () {
      const sent: Array<Record<string, unknown>> = []
      const onSend = (_path: string, body: string) => void sent.push(JSON.parse(body))
      const two = json({ embeddings: { float: [[1], [2]] }, response_type: "embeddings_by_type" }, { onSend })
      const answer = yield* embed(two, COHERE, ["a", "b"], { dimensions: 512, input_type: "search_query" })
      assert.deepStrictEqual(sent[0], {
        texts: ["a", "b"],
        input_type: "search_query",
        embedding_types: ["float"],
        output_dimension: 512
      })
      assert.deepStrictEqual(answer, { vectors: [[1], [2]], usage: null })
      const many = Array.from({ length: 97 }, (_, at) => String(at))
      const error = yield* Effect.flip(embed(two, COHERE, many, { input_type: "nonsense" }))
      assert.deepStrictEqual(error.reason, new Malformed({ detail: "bad embedding" }))
      assert.deepInclude(sent[1], { texts: many.slice(0, 96), input_type: "search_document" })
    })
  )

  it.effect("read a bare list of vectors", () =>
    Effect.gen(function* () {
      const answer = yield* embed(json({ embeddings: [[1, 2]] }), "cohere.embed-english-v3", "a")
      assert.deepStrictEqual(answer.vectors, [[1, 2]])
    })
  )

  it.effect("refuse other models, and sizes that a model does not have", () =>
    Effect.gen(function* () {
      const other = yield* Effect.flip(embed(json({}), "amazon.nova-2-multimodal-embeddings-v1:0", "a"))
      assert.deepInclude(other.reason, { _tag: "Unsupported", param: "model" })
      const sized = yield* Effect.flip(embed(json({}), "amazon.titan-embed-text-v1", "a", { dimensions: 8 }))
      assert.deepInclude(sized.reason, { _tag: "Unsupported", param: "dimensions" })
      const bad = yield* Effect.flip(embed(json({ embedding: ["x"] }), TITAN, "a"))
      assert.instanceOf(bad.reason, Malformed)
    })
  )
})

describe("Bedrock, as another's server has it", () => {
  const said = { content: "Hello there, my friend.", usage: { prompt_tokens: 11, completion_tokens: 5 } }
  const calls = [
    { id: "t1", name: "get_weather", arguments: '{"place":"Zürich"}' },
    { id: "t2", name: "get_weather", arguments: '{"place":"東京"}' }
  ]
  const server = startAimock([
    { match: { userMessage: "hello" }, response: said },
    { match: { userMessage: "weather" }, response: { toolCalls: calls } }
  ])
  const call = (content: string) => ({
    request: request({
      messages: [{ role: "user", content }],
      tools: [{ type: "function", function: { name: "get_weather" } }]
    }),
    offer: offerOf(SONNET)
  })

  it.effect("answers whole and streamed, to signed calls", () =>
    Effect.gen(function* () {
      const { journal, url } = yield* server
      const baseUrl = new URL(url).origin
      const apiKey = Redacted.make("AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
      const provider = makeBedrock(
        config({ dialect: "bedrock", baseUrl, apiKey, query: { region: "eu-west-1" } }),
        yield* Transport
      )
      const whole = yield* provider.chat(call("hello"))
      assert.strictEqual(whole.choices[0]?.message.content, said.content)
      assert.deepInclude(whole.usage, { promptTokens: 11, completionTokens: 5 })
      const events = yield* Effect.flatMap(provider.chatStream(call("weather")), (stream) =>
        Stream.runCollect(stream.stream)
      )
      const given = new Map<number, string>()
      for (const event of events) {
        for (const choice of event._tag === "Choices" ? event.choices : []) {
          for (const { function: called, index } of choice.delta.tool_calls ?? [])
            given.set(index, (given.get(index) ?? "") + (called?.arguments ?? ""))
        }
      }
      assert.deepStrictEqual(
        [...given.values()],
        calls.map((each) => each.arguments)
      )
      assert.strictEqual(events.at(-1)?._tag, "End")
      const requests = yield* journal
      assert.strictEqual(requests.length, 2)
      for (const { headers, path } of requests) {
        assert.notInclude(path, "region")
        // The journal redacts credentials: it shows that one was sent, and the time that was
        // signed.
        assert.strictEqual(headers["authorization"], "[REDACTED]")
        assert.strictEqual(headers["x-amz-date"], "19700101T000000Z")
      }
    }).pipe(Effect.scoped, Effect.provide(Transport.layer))
  )
})
