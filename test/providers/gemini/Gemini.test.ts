import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeGemini } from "../../../src/providers/gemini/Gemini.ts"
import {
  CredentialsRefused,
  Malformed,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  Unsupported
} from "../../../src/providers/Provider.ts"
import { config, fixture, offer, replay, type Replay } from "../replayedTransport.ts"

const gemini = config({
  slug: "gemini",
  dialect: "gemini",
  baseUrl: "http://127.0.0.1:1/v1beta",
  auth: { type: "header", name: "x-goog-api-key" }
})
const request: ChatRequest = { model: "google/g", messages: [{ role: "user", content: "hi" }], stream: false }
const json = (value: unknown, rest: Partial<Replay> = {}): Replay => ({
  chunks: [Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))],
  type: "application/json; charset=UTF-8",
  ...rest
})
const chat = (given: Replay, sent: Partial<ChatRequest> = {}) =>
  makeGemini(gemini, replay(given)).chat({ request: { ...request, ...sent }, offer })
const reasonFor = (given: Replay, sent: Partial<ChatRequest> = {}) =>
  Effect.map(Effect.flip(chat(given, sent)), (error) => error.reason)
const candidate = (parts: ReadonlyArray<object>, rest: object = { finishReason: "STOP" }) => ({
  content: { parts, role: "model" },
  index: 0,
  ...rest
})

describe("Gemini chat", () => {
  it.effect("reads text, reasoning, and usage that counts thoughts and contains cached tokens", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chat(json(fixture("gemini-chat.json"))), {
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "9.8 is larger.",
              reasoning: "**Comparing**\n\n9.11 < 9.8",
              reasoning_details: [
                {
                  type: "reasoning.encrypted",
                  data: "CiQBVKhc7vXE",
                  format: "google-gemini-v1",
                  provider: "gemini",
                  index: 0,
                  from: 7,
                  to: 14
                }
              ]
            },
            finish_reason: "stop"
          }
        ],
        usage: { promptTokens: 2152, completionTokens: 151, cachedTokens: 2027, reasoningTokens: 142 },
        systemFingerprint: "gemini-2.5-flash"
      })
    })
  )

  it.effect("reads parallel calls, makes up the ids that lack, and keeps the signature", () =>
    Effect.gen(function* () {
      const reply = yield* chat(json(fixture("gemini-tools.json")))
      assert.deepStrictEqual(reply.choices, [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: "call_8VDyaJ_0",
                type: "function",
                function: { name: "get_weather", arguments: '{"location":"Paris","days":2}' },
                extra_content: { google: { thought_signature: "CvcQAVSoXO4=", provider: "gemini" } }
              },
              {
                id: "call_8VDyaJ_1",
                type: "function",
                function: { name: "get_weather", arguments: '{"location":"Bogotá"}' }
              },
              { id: "t0qhw5fh", type: "function", function: { name: "get_time", arguments: "{}" } }
            ]
          },
          finish_reason: "tool_calls"
        }
      ])
      assert.deepStrictEqual(reply.usage, {
        promptTokens: 82,
        completionTokens: 78,
        cachedTokens: 0,
        reasoningTokens: 61
      })
    })
  )

  it.effect("counts made-up ids on through a conversation whose replies have no id", () =>
    Effect.gen(function* () {
      const given = json({
        candidates: [candidate([{ functionCall: { name: "f" } }, { functionCall: { name: "f" } }])]
      })
      const before: ChatRequest["messages"] = [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_0", type: "function", function: { name: "f", arguments: "{}" } }]
        },
        { role: "tool", tool_call_id: "call_0", content: "1" }
      ]
      const { choices } = yield* chat(given, { messages: before })
      assert.deepStrictEqual(
        choices[0]?.message.tool_calls?.map((call) => call["id"]),
        ["call_1", "call_2"]
      )
    })
  )

  it.effect("passes one call on where parallel ones are not wanted", () =>
    Effect.gen(function* () {
      const { choices } = yield* chat(json(fixture("gemini-tools.json")), { parallel_tool_calls: false })
      assert.deepStrictEqual(
        choices[0]?.message.tool_calls?.map((call) => call["id"]),
        ["call_8VDyaJ_0"]
      )
    })
  )

  it.effect.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["SPII", "content_filter"],
    ["LANGUAGE", "content_filter"]
  ] as const)(
    "%s is %s",
    Effect.fnUntraced(function* ([finishReason, expected]) {
      const { choices } = yield* chat(json({ candidates: [candidate([{ text: "a" }], { finishReason })] }))
      assert.strictEqual(choices[0]?.finish_reason, expected)
    })
  )

  it.effect("takes thought that left no room for an answer, and an answer that was withheld", () =>
    Effect.gen(function* () {
      const long = yield* chat(json({ candidates: [{ finishReason: "MAX_TOKENS" }] }))
      assert.deepStrictEqual(long.choices, [
        { index: 0, message: { role: "assistant", content: "" }, finish_reason: "length" }
      ])
      assert.isNull(long.usage)
      const withheld = yield* chat(json({ candidates: [{ finishReason: "SAFETY", index: 0 }] }))
      assert.deepStrictEqual(withheld.choices, [
        { index: 0, message: { role: "assistant", content: null }, finish_reason: "content_filter" }
      ])
    })
  )

  it.effect("reads several candidates and their log probabilities", () =>
    Effect.gen(function* () {
      const logprobsResult = {
        chosenCandidates: [{ token: "é", logProbability: -0.1, tokenId: 7 }],
        topCandidates: [
          {
            candidates: [
              { token: "é", logProbability: -0.1 },
              { token: "e", logProbability: -2 }
            ]
          }
        ]
      }
      const { choices } = yield* chat(
        json({
          candidates: [
            candidate([{ text: "é" }], { finishReason: "STOP", logprobsResult }),
            candidate([{ text: "e" }], { finishReason: "MAX_TOKENS", index: 1 })
          ]
        }),
        { n: 2, logprobs: true, top_logprobs: 2 }
      )
      assert.deepStrictEqual(
        choices.map(({ finish_reason, index }) => [index, finish_reason]),
        [
          [0, "stop"],
          [1, "length"]
        ]
      )
      assert.deepStrictEqual(choices[0]?.["logprobs"], {
        content: [
          {
            token: "é",
            logprob: -0.1,
            bytes: [195, 169],
            top_logprobs: [
              { token: "é", logprob: -0.1, bytes: [195, 169] },
              { token: "e", logprob: -2, bytes: [101] }
            ]
          }
        ],
        refusal: null
      })
    })
  )

  it.effect("says of a blocked prompt that the request is at fault", () =>
    Effect.gen(function* () {
      const given = json({
        promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
        usageMetadata: { promptTokenCount: 9 }
      })
      const reason = yield* reasonFor(given)
      assert.deepStrictEqual(
        reason,
        new Rejected({
          status: 400,
          message: "the prompt was blocked: PROHIBITED_CONTENT",
          param: "messages",
          code: "content_filter",
          contextLength: false
        })
      )
    })
  )

  it.effect("refuses what is no answer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* reasonFor(
          json({ candidates: [candidate([{ text: "a" }], { finishReason: "MALFORMED_FUNCTION_CALL" })] })
        ),
        new Malformed({ detail: "the model ended with MALFORMED_FUNCTION_CALL" })
      )
      assert.deepStrictEqual(yield* reasonFor(json({})), new Malformed({ detail: "empty completion" }))
      assert.deepStrictEqual(
        yield* reasonFor(json({ candidates: [{ index: 0 }] })),
        new Malformed({ detail: "empty completion" })
      )
      assert.deepStrictEqual(yield* reasonFor(json([])), new Malformed({ detail: "not a JSON object" }))
      const timeout = new TimedOut({ phase: "connect" })
      assert.strictEqual(yield* reasonFor(json({}, { failure: timeout })), timeout)
    })
  )

  it.effect("asks the model by its path, and nothing where the request cannot be said", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const onSend = (path: string) => void paths.push(path)
      const given = json(fixture("gemini-chat.json"), { onSend })
      const ask = (upstream: string, baseUrl: string, sent: Partial<ChatRequest> = {}) =>
        makeGemini({ ...gemini, baseUrl }, replay(given)).chat({
          request: { ...request, ...sent },
          offer: { ...offer, upstream }
        })
      yield* ask("gemini-2.5-flash", "http://127.0.0.1:1/v1beta")
      yield* ask("gemini-2.5-flash", "http://127.0.0.1:1")
      yield* ask("tunedModels/mine 1", "http://127.0.0.1:1/v1")
      const error = yield* Effect.flip(ask("g", "http://127.0.0.1:1", { logit_bias: { 1: 1 } }))
      assert.instanceOf(error.reason, Unsupported)
      assert.isFalse(error.isRequestsFault)
      assert.deepStrictEqual(paths, [
        "/models/gemini-2.5-flash:generateContent",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "/tunedModels/mine%201:generateContent"
      ])
    })
  )

  it.effect("never repeats the key that the provider repeated", () =>
    Effect.gen(function* () {
      const keyed = { ...gemini, apiKey: Redacted.make("AIza-very-secret") }
      const given = json(
        { error: { code: 400, message: "odd AIza-very-secret", status: "INVALID_ARGUMENT" } },
        { status: 400 }
      )
      const error = yield* Effect.flip(makeGemini(keyed, replay(given)).chat({ request, offer }))
      assert.instanceOf(error.reason, Rejected)
      assert.notInclude(JSON.stringify(error), "secret")
    })
  )
})

const failed = (code: number, status: string, message: string, details: ReadonlyArray<object> = []) => ({
  error: { code, message, status, details }
})
const rejected = (status: number, message: string, rest: { param?: string; code?: string; long?: boolean } = {}) =>
  new Rejected({
    status,
    message,
    param: rest.param ?? null,
    code: rest.code ?? "invalid_argument",
    contextLength: rest.long ?? false
  })
const badRequest = (field: string) => ({
  "@type": "type.googleapis.com/google.rpc.BadRequest",
  fieldViolations: [{ field, description: "bad" }]
})

describe("Gemini errors", () => {
  const rows: ReadonlyArray<readonly [string, number, unknown, ProviderReason]> = [
    [
      "a bad key",
      400,
      failed(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "API_KEY_INVALID",
          domain: "googleapis.com",
          metadata: { service: "generativelanguage.googleapis.com" }
        }
      ]),
      new CredentialsRefused({ status: 400 })
    ],
    [
      "a key without the right",
      403,
      failed(403, "PERMISSION_DENIED", "Your API key doesn't have the required permissions."),
      new CredentialsRefused({ status: 403 })
    ],
    [
      "an account that may not call from here",
      400,
      failed(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
      new CredentialsRefused({ status: 400 })
    ],
    [
      "a quota that says how long to wait",
      429,
      failed(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [{ quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests" }]
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.074824224s" }
      ]),
      new Throttled({ status: 429, retryAfterMs: 34_075 })
    ],
    [
      "a quota that does not",
      429,
      failed(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
      new Throttled({ status: 429, retryAfterMs: null })
    ],
    [
      "an overloaded model",
      503,
      failed(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
      new ServerFault({ status: 503, retryAfterMs: null })
    ],
    [
      "a fault",
      500,
      failed(500, "INTERNAL", "An internal error has occurred."),
      new ServerFault({ status: 500, retryAfterMs: null })
    ],
    [
      "a deadline",
      504,
      failed(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
      new ServerFault({ status: 504, retryAfterMs: null })
    ],
    [
      "a prompt that is too long",
      400,
      failed(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1234567) exceeds the maximum number of tokens allowed (1048576)."
      ),
      rejected(400, "The input token count (1234567) exceeds the maximum number of tokens allowed (1048576).", {
        code: "context_length_exceeded",
        long: true
      })
    ],
    [
      "an unknown model",
      404,
      failed(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta"),
      rejected(404, "models/gemini-9 is not found for API version v1beta", { code: "not_found" })
    ],
    [
      "a violated field",
      400,
      failed(400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.max_output_tokens'", [
        badRequest("generation_config.max_output_tokens")
      ]),
      rejected(400, "Invalid value at 'generation_config.max_output_tokens'", { param: "max_tokens" })
    ],
    [
      "a field named in the message, in a list",
      400,
      [
        failed(400, "INVALID_ARGUMENT", "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid name")
      ],
      rejected(400, "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid name", { param: "tools" })
    ],
    [
      "a field that no client knows",
      400,
      failed(400, "INVALID_ARGUMENT", "no", [badRequest("labels")]),
      rejected(400, "no")
    ],
    ["a wrong address", 404, "<html>Not Found</html>", new ServerFault({ status: 404, retryAfterMs: null })],
    [
      "an error inside a 200",
      200,
      failed(503, "UNAVAILABLE", "x"),
      new ServerFault({ status: 503, retryAfterMs: null })
    ]
  ]

  it.effect.each(rows)(
    "%s",
    Effect.fnUntraced(function* ([, status, body, reason]) {
      const given = typeof body === "string" ? json(Buffer.from(body), { status }) : json(body, { status })
      assert.deepStrictEqual(yield* reasonFor(given), reason)
      const opened = Effect.scoped(makeGemini(gemini, replay(given)).chatStream({ request, offer }))
      assert.deepStrictEqual((yield* Effect.flip(opened)).reason, reason)
    })
  )
})

describe("Gemini embeddings", () => {
  const embed = (given: Replay, input: string | ReadonlyArray<string>, rest: object = {}) =>
    makeGemini(gemini, replay(given)).embed({ request: { model: "google/e", input, ...rest }, offer })

  it.effect("reads vectors in the order of the inputs", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const onSend = (path: string, body: string) => void sent.push([path, JSON.parse(body)])
      const reply = yield* embed(json(fixture("gemini-embeddings.json"), { onSend }), ["a", "b"], {
        encoding_format: "base64"
      })
      assert.deepStrictEqual(reply, {
        vectors: [
          [3, 4, 0],
          [0.5, -0.25, 1]
        ],
        usage: { promptTokens: 8, completionTokens: 0, cachedTokens: 0 }
      })
      assert.deepStrictEqual(sent, [
        [
          "/models/small-2026:batchEmbedContents",
          {
            requests: [
              { model: "models/small-2026", content: { parts: [{ text: "a" }] } },
              { model: "models/small-2026", content: { parts: [{ text: "b" }] } }
            ]
          }
        ]
      ])
    })
  )

  it.effect("brings shortened vectors to unit length", () =>
    Effect.gen(function* () {
      const sent: Array<{ requests: ReadonlyArray<object> }> = []
      const onSend = (_path: string, body: string) => void sent.push(JSON.parse(body))
      const given = json({ embeddings: [{ values: [3, 4] }] }, { onSend })
      assert.deepStrictEqual(yield* embed(given, "a", { dimensions: 2 }), { vectors: [[0.6, 0.8]], usage: null })
      assert.propertyVal(sent[0]?.requests[0], "outputDimensionality", 2)
      const zero = json({ embeddings: [{ values: [0, 0] }] })
      assert.deepStrictEqual((yield* embed(zero, "a", { dimensions: 2 })).vectors, [[0, 0]])
    })
  )

  it.effect("asks for more than a hundred texts in several batches", () =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const onSend = (_path: string, body: string) => void sizes.push(JSON.parse(body).requests.length)
      const given = json(
        {
          embeddings: Array.from({ length: 100 }, () => ({ values: [1] })),
          usageMetadata: { promptTokenCount: 100 }
        },
        { onSend }
      )
      const texts = (count: number) => Array.from({ length: count }, (_, at) => `text ${at}`)
      const reply = yield* embed(given, texts(200))
      assert.strictEqual(reply.vectors.length, 200)
      assert.deepStrictEqual(reply.usage, { promptTokens: 200, completionTokens: 0, cachedTokens: 0 })
      const error = yield* Effect.flip(embed(given, texts(101)))
      assert.deepStrictEqual(error.reason, new Malformed({ detail: "embeddings missing" }))
      assert.deepStrictEqual(sizes, [100, 100, 100, 1])
    })
  )

  it.effect("refuses missing and unreadable vectors, and passes refusals on", () =>
    Effect.gen(function* () {
      for (const body of [{}, { embeddings: [{ values: [] }] }, { embeddings: [{ values: ["x"] }] }]) {
        assert.instanceOf((yield* Effect.flip(embed(json(body), "a"))).reason, Malformed)
      }
      const given = json(failed(400, "INVALID_ARGUMENT", "no", [badRequest("requests[0].output_dimensionality")]), {
        status: 400
      })
      assert.deepStrictEqual((yield* Effect.flip(embed(given, "a"))).reason, rejected(400, "no", { param: "input" }))
    })
  )
})
