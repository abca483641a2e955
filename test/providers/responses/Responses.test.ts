import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeResponses } from "../../../src/providers/responses/Responses.ts"
import { CredentialsRefused, Malformed, Rejected, ServerFault, Throttled } from "../../../src/providers/Provider.ts"
import { chatBody, embeddingsBody, errorBody } from "../../support/upstream/Bodies.ts"
import {
  callItem,
  customCallItem,
  messageItem,
  reasoningItem,
  refusalItem,
  responseBody
} from "../../support/upstream/ResponseBodies.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false }
const byResponses = { ...offer, api: "responses" as const }
const json = (value: unknown, rest: Partial<Replay> = {}): Replay => ({
  chunks: [Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))],
  type: "application/json",
  ...rest
})
const chat = (given: Replay, overrides = {}) =>
  makeResponses(config(overrides), replay(given)).chat({ request, offer: byResponses })
const first = (given: Replay) =>
  Effect.map(chat(given), ({ choices }) => choices[0] ?? assert.fail("an answer without a choice"))
const reasonFor = (given: Replay) => Effect.map(Effect.flip(chat(given)), (error) => error.reason)

describe("the Responses API", () => {
  it.effect("serves the offers that ask for it, and chat completions and embeddings the others", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const onSend = (path: string) => void paths.push(path)
      const provider = (body: unknown) => makeResponses(config(), replay(json(body, { onSend })))
      yield* provider(responseBody([messageItem("hi")])).chat({ request, offer: byResponses })
      yield* provider(chatBody()).chat({ request, offer })
      yield* provider(chatBody()).chat({ request, offer: { ...offer, api: "chat" } })
      yield* provider(embeddingsBody([[1]])).embed({ request: { model: "test/embed", input: "a" }, offer: byResponses })
      for (const each of [byResponses, offer]) {
        yield* Effect.scoped(
          Effect.asVoid(provider(chatBody()).chatStream({ request: { ...request, stream: true }, offer: each }))
        ).pipe(Effect.ignore)
      }
      assert.deepStrictEqual(paths, [
        "/responses",
        "/chat/completions",
        "/chat/completions",
        "/embeddings",
        "/responses",
        "/chat/completions"
      ])
    })
  )

  it.effect("answers with text, reasoning, calls and usage", () =>
    Effect.gen(function* () {
      const reply = yield* chat(json(fixture("responses-tools.json")))
      const mark = {
        id: "rs_6820f383d7c08191846711c5df8233bc0ac5ba57aafcbac0",
        format: "openai-responses-v1",
        provider: "alpha"
      }
      assert.deepStrictEqual(reply, {
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "Let me check.",
              tool_calls: [
                {
                  id: "call_1",
                  type: "function",
                  function: { name: "get_weather", arguments: '{"location":"Paris"}' }
                },
                {
                  id: "call_2",
                  type: "function",
                  function: { name: "get_weather", arguments: '{"location":"Bogotá"}' }
                }
              ],
              reasoning: "**Looking** up",
              reasoning_details: [
                { type: "reasoning.summary", summary: "**Looking** up", ...mark, index: 0 },
                { type: "reasoning.encrypted", data: "gAAAAABoISQ24OyVRYbkYfukdJoqdzWT", ...mark, index: 1 }
              ],
              phase: "commentary"
            },
            finish_reason: "tool_calls"
          }
        ],
        extra: { service_tier: "default" },
        usageExtra: {
          prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 8 }
        },
        usage: { promptTokens: 82, completionTokens: 17, cachedTokens: 64, reasoningTokens: 8 },
        systemFingerprint: null
      })
    })
  )

  it.effect("answers with calls of every kind, refusals, sources and log probabilities", () =>
    Effect.gen(function* () {
      const custom = yield* first(json(responseBody([customCallItem("call_1", "sh", "ls")])))
      assert.deepStrictEqual(custom.message, {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "custom", custom: { name: "sh", input: "ls" } }]
      })
      const bare = yield* first(json(responseBody([callItem("", "f", "")])))
      assert.deepStrictEqual(bare.message.tool_calls?.[0]?.["function"], { name: "f", arguments: "{}" })
      assert.match(String(bare.message.tool_calls?.[0]?.["id"]), /^call_resp_/)
      const refused = yield* first(json(responseBody([refusalItem("No.")])))
      assert.deepStrictEqual(refused.message, { role: "assistant", content: null, refusal: "No." })
      assert.strictEqual(refused.finish_reason, "stop")
      const source = { type: "url_citation", url: "https://a.test", title: "A", start_index: 0, end_index: 1 }
      const logprobs = [{ token: "a", logprob: -0.1, bytes: [97], top_logprobs: [] }]
      const part = { type: "output_text", text: "a", annotations: [source], logprobs }
      const sourced = yield* first(json(responseBody([messageItem("", { content: [part] })])))
      const { type, ...rest } = source
      assert.deepStrictEqual(sourced.message["annotations"], [{ type, url_citation: rest }])
      assert.deepStrictEqual(sourced["logprobs"], { content: logprobs, refusal: null })
    })
  )

  it.effect("shows the reasoning of open models, and keeps what is encrypted without a summary", () =>
    Effect.gen(function* () {
      const open = { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "hm" }] }
      const { message } = yield* first(json(responseBody([open, messageItem("4")])))
      assert.strictEqual(message.reasoning, "hm")
      const hidden = yield* first(json(responseBody([reasoningItem([], "gAAAA"), messageItem("4")])))
      assert.notProperty(hidden.message, "reasoning")
      assert.nestedPropertyVal(hidden.message, "reasoning_details[0].data", "gAAAA")
    })
  )

  const endings: ReadonlyArray<readonly [object, string]> = [
    [{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "length"],
    [{ status: "incomplete", incomplete_details: { reason: "content_filter" } }, "content_filter"],
    [{ status: "incomplete", incomplete_details: null }, "length"],
    [{ status: undefined }, "stop"]
  ]
  it.effect.each(endings)("%j finishes with %s", ([members, finish]) =>
    Effect.gen(function* () {
      const choice = yield* first(json(responseBody([messageItem("a")], { ...members })))
      assert.strictEqual(choice.finish_reason, finish)
    })
  )

  it.effect("refuses what is no answer, with the reason", () =>
    Effect.gen(function* () {
      const failed = (error: object | null) => json(responseBody([], { status: "failed", error }))
      assert.deepStrictEqual(
        yield* reasonFor(failed({ code: "server_error", message: "x" })),
        new ServerFault({ status: 500, retryAfterMs: null })
      )
      assert.deepStrictEqual(
        yield* reasonFor(failed({ code: "rate_limit_exceeded", message: "x" })),
        new Throttled({ status: 429, retryAfterMs: null })
      )
      for (const body of [
        responseBody([], { status: "failed" }),
        responseBody([messageItem("a")], { status: "in_progress" }),
        responseBody([], { status: "cancelled" }),
        responseBody([], { usage: { completion_tokens: 12 } }),
        { ...responseBody([]), output: null },
        [1]
      ]) {
        assert.instanceOf(yield* reasonFor(json(body)), Malformed)
      }
      assert.deepStrictEqual(
        yield* reasonFor(json(errorBody("key"), { status: 401 })),
        new CredentialsRefused({ status: 401 })
      )
    })
  )

  it.effect("does not blame the request for encrypted reasoning that it cannot read", () =>
    Effect.gen(function* () {
      const body = errorBody("The encrypted content gAA= could not be verified.", { code: "invalid_encrypted_content" })
      const error = yield* Effect.flip(chat(json(body, { status: 400 })))
      assert.deepInclude(error.reason, { _tag: "Unsupported", param: "messages" })
      assert.isFalse(error.isRequestsFault)
    })
  )

  it.effect("names the client's member in a refusal, and never repeats the key", () =>
    Effect.gen(function* () {
      const blamed = (param: string | null) =>
        Effect.map(
          reasonFor(json(errorBody("bad", { param }), { status: 400 })),
          (reason) => reason instanceof Rejected && reason.param
        )
      assert.strictEqual(yield* blamed("input[2].content"), "messages")
      assert.strictEqual(yield* blamed("max_output_tokens"), "max_tokens")
      assert.strictEqual(yield* blamed("text.format.schema"), "response_format")
      assert.strictEqual(yield* blamed("text.verbosity"), "verbosity")
      assert.strictEqual(yield* blamed("reasoning.effort"), "reasoning_effort")
      assert.strictEqual(yield* blamed("tools[0].name"), "tools[0].name")
      assert.isNull(yield* blamed(null))
      const overflow = errorBody("Your input exceeds the context window of this model.", {
        param: "input",
        code: "context_length_exceeded"
      })
      assert.deepInclude(yield* reasonFor(json(overflow, { status: 400 })), { param: "messages", contextLength: true })
      const given = json(errorBody("header sk-very-secret is malformed"), { status: 400 })
      const error = yield* Effect.flip(chat(given, { apiKey: Redacted.make("sk-very-secret") }))
      assert.notInclude(JSON.stringify(error), "secret")
      assert.isTrue(error.isRequestsFault)
    })
  )
})
