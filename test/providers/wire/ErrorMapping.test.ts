import { assert, describe, it } from "@effect/vitest"
import {
  CredentialsRefused,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled
} from "../../../src/providers/Provider.ts"
import { faultOf } from "../../../src/providers/wire/Faults.ts"
import { errorInBody, reasonOfStatus, retryAfterOf } from "../../../src/providers/wire/ErrorMapping.ts"
import { errorBody } from "../../support/upstream/Bodies.ts"

const nowMs = Date.UTC(2026, 10, 21, 12)
const rejected = (status: number, message: string, code: string | null = "invalid_request_error") =>
  new Rejected({ status, message, param: null, code, contextLength: false })

/** The reasons without the provider's words. */
const statusReason = (...given: Parameters<typeof reasonOfStatus>) =>
  faultOf("alpha", reasonOfStatus(...given), null).reason
const bodyReason = (body: Parameters<typeof errorInBody>[0]) => {
  const reason = errorInBody(body)
  return reason === null ? null : faultOf("alpha", reason, null).reason
}

type Row = readonly [string, number, Record<string, string>, string, ProviderReason]
const rows: ReadonlyArray<Row> = [
  [
    "a bad key",
    401,
    {},
    JSON.stringify(errorBody("Incorrect API key provided: sk-1")),
    new CredentialsRefused({ status: 401 })
  ],
  ["no permission", 403, {}, "Forbidden", new CredentialsRefused({ status: 403 })],
  ["no money", 402, {}, "{}", new CredentialsRefused({ status: 402 })],
  [
    "a used-up quota",
    429,
    {},
    JSON.stringify(errorBody("quota", { code: "insufficient_quota" })),
    new CredentialsRefused({ status: 429 })
  ],
  [
    "a bad key under 400",
    400,
    {},
    JSON.stringify(errorBody("key", { code: "invalid_api_key" })),
    new CredentialsRefused({ status: 400 })
  ],
  ["too many requests", 429, {}, "{}", new Throttled({ status: 429, retryAfterMs: null })],
  ["seconds to wait", 429, { "retry-after": "7" }, "slow down", new Throttled({ status: 429, retryAfterMs: 7_000 })],
  [
    "milliseconds to wait",
    429,
    { "retry-after-ms": "120", "retry-after": "1" },
    "",
    new Throttled({ status: 429, retryAfterMs: 120 })
  ],
  [
    "a date",
    429,
    { "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" },
    "",
    new Throttled({ status: 429, retryAfterMs: 30_000 })
  ],
  ["a polite 503", 503, { "retry-after": "2" }, "", new Throttled({ status: 503, retryAfterMs: 2_000 })],
  ["a bare 503", 503, {}, "<html>", new ServerFault({ status: 503, retryAfterMs: null })],
  ["a fault", 500, {}, JSON.stringify(errorBody("oops")), new ServerFault({ status: 500, retryAfterMs: null })],
  ["overloaded", 529, { "retry-after": "3" }, "{}", new ServerFault({ status: 529, retryAfterMs: 3_000 })],
  ["a slow request", 408, {}, "", new ServerFault({ status: 408, retryAfterMs: null })],
  ["a gateway's timeout", 504, {}, "", new ServerFault({ status: 504, retryAfterMs: null })],
  ["Cloudflare's timeout", 524, {}, "<!DOCTYPE html>", new ServerFault({ status: 524, retryAfterMs: null })],
  ["a redirect", 302, { location: "http://elsewhere" }, "", new ServerFault({ status: 302, retryAfterMs: null })],
  ["a teapot", 418, {}, "", new ServerFault({ status: 418, retryAfterMs: null })],
  ["a wrong address", 404, {}, "<html>Not Found</html>", new ServerFault({ status: 404, retryAfterMs: null })],
  [
    "an unknown model",
    404,
    {},
    JSON.stringify(errorBody("The model `x` does not exist", { param: "model", code: "model_not_found" })),
    new Rejected({
      status: 404,
      message: "The model `x` does not exist",
      param: "model",
      code: "model_not_found",
      contextLength: false
    })
  ],
  ["a bad request", 400, {}, JSON.stringify(errorBody("no")), rejected(400, "no")],
  ["a bad request in plain text", 400, {}, "Bad\r\n\tRequest \u0000\n", rejected(400, "Bad Request", null)],
  ["a bad request in a JSON text", 400, {}, '"Bad Request"', rejected(400, "Bad Request", null)],
  ["an unreadable bad request", 400, {}, "<html>no", rejected(400, "the provider answered 400", null)],
  [
    "a list, as Google's OpenAI endpoint has it",
    400,
    {},
    '[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]',
    rejected(400, "bad", "400")
  ],
  [
    "errors, as Cloudflare has them",
    400,
    {},
    '{"success":false,"errors":[{"code":5006,"message":"bad"}]}',
    rejected(400, "bad", "5006")
  ],
  ["errors that are texts", 400, {}, '{"errors":["bad"]}', rejected(400, "bad", null)],
  [
    "details inside the message, as Mistral has them",
    422,
    {},
    '{"object":"error","message":{"detail":[{"type":"missing","loc":["body"],"msg":"Field required"}]}}',
    rejected(422, "Field required", null)
  ],
  [
    "another provider's words, as OpenRouter has them",
    400,
    {},
    JSON.stringify({ error: { code: 400, message: "Provider returned error", metadata: { raw: "tools.0: bad" } } }),
    rejected(400, "Provider returned error: tools.0: bad", "400")
  ],
  [
    "words buried too deep",
    400,
    {},
    `{"message":${"[".repeat(9_000)}"x"${"]".repeat(9_000)}}`,
    rejected(400, "the provider answered 400", null)
  ],
  ...[
    '[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}]',
    '{"errors":[{"code":400,"message":"The estimated number of tokens (9) exceeded this model context window limit (8)."}]}',
    '{"message":{"detail":[{"code":"400","msg":"too large for model with 8 maximum context length"}]},"code":"400"}',
    '{"code":"400","error":"This model\'s maximum prompt length is 8 but the request contains 9 tokens."}'
  ].map((text, at): Row => [
    `a long prompt in the form ${at}`,
    400,
    {},
    text,
    new Rejected({
      status: 400,
      message: /"(?:message|msg|error)":"([^"]*)"/.exec(text)?.[1] ?? "",
      param: null,
      code: "400",
      contextLength: true
    })
  ]),
  [
    "flagged input, as OpenRouter has it",
    403,
    {},
    JSON.stringify({
      error: { code: 403, message: "flagged", metadata: { reasons: ["violence"], flagged_input: "…" } }
    }),
    new Rejected({ status: 403, message: "flagged", param: "messages", code: "403", contextLength: false })
  ],
  [
    "an output limit beyond the credit",
    402,
    {},
    JSON.stringify({ error: { code: 402, message: "requires more credits, or fewer max_tokens" } }),
    new Rejected({
      status: 402,
      message: "requires more credits, or fewer max_tokens",
      param: "max_tokens",
      code: "402",
      contextLength: false
    })
  ],
  [
    "a throttle under 400",
    400,
    {},
    '{"__type":"com.amazonaws#ThrottlingException","message":"slow"}',
    new Throttled({ status: 400, retryAfterMs: null })
  ],
  ["a large request", 413, {}, "{}", rejected(413, "the provider answered 413", null)],
  [
    "Mistral's shape",
    422,
    {},
    '{"object":"error","message":"bad","type":"invalid_request_error","code":null}',
    rejected(422, "bad")
  ],
  [
    "FastAPI's shape",
    422,
    {},
    '{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}',
    rejected(422, "field required", null)
  ],
  ["a plain string", 400, {}, '{"error":"model is required"}', rejected(400, "model is required", null)],
  [
    "a long prompt by code",
    400,
    {},
    JSON.stringify(errorBody("too long", { param: "messages", code: "context_length_exceeded" })),
    new Rejected({
      status: 400,
      message: "too long",
      param: "messages",
      code: "context_length_exceeded",
      contextLength: true
    })
  ],
  [
    "a long prompt by words",
    400,
    {},
    '{"object":"error","message":"This model\'s maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}',
    new Rejected({
      status: 400,
      message: "This model's maximum context length is 4096 tokens.",
      param: null,
      code: "400",
      contextLength: true
    })
  ]
]

describe("refusalOf", () => {
  it.each(rows)("%s", (_name, status, headers, text, reason) => {
    assert.deepStrictEqual(statusReason(status, headers, text, nowMs), reason)
  })
})

describe("refusalInside", () => {
  it("reads the status off the error's code, type or number", () => {
    const inside = (error: unknown) => bodyReason({ error })
    assert.deepStrictEqual(inside({ message: "x", code: 429 }), new Throttled({ status: 429, retryAfterMs: null }))
    assert.deepStrictEqual(inside({ message: "x", code: "502" }), new ServerFault({ status: 502, retryAfterMs: null }))
    assert.deepStrictEqual(inside({ type: "rate_limit_error" }), new Throttled({ status: 429, retryAfterMs: null }))
    assert.deepStrictEqual(inside({ type: "server_error" }), new ServerFault({ status: 500, retryAfterMs: null }))
    assert.deepStrictEqual(inside("broken"), new ServerFault({ status: 500, retryAfterMs: null }))
    assert.deepStrictEqual(inside({ message: "no", type: "invalid_request_error" }), rejected(400, "no"))
    assert.deepStrictEqual(
      bodyReason({ object: "error", message: "no" }),
      new ServerFault({ status: 500, retryAfterMs: null })
    )
  })

  it("waits as long as the message of a rate limit says", () => {
    const limited = (told: string) =>
      bodyReason({
        error: { code: "rate_limit_exceeded", message: `Rate limit reached. Please try again in ${told}. Visit us.` }
      })
    for (const [told, retryAfterMs] of [
      ["11.054s", 11_054],
      ["20ms", 20],
      ["1m30.5s", 90_500],
      ["6m0s", 360_000],
      ["1h2m3s", 3_723_000],
      ["900h", 86_400_000],
      ["a while", null]
    ] as const) {
      assert.deepStrictEqual(limited(told), new Throttled({ status: 429, retryAfterMs }), told)
    }
  })

  it("sees none in an answer", () => {
    assert.isNull(bodyReason({ choices: [], error: null }))
  })
})

describe("retryAfterOf", () => {
  it("ignores what makes no sense, and never waits for the past", () => {
    assert.isNull(retryAfterOf({ "retry-after": "soon" }, nowMs))
    assert.isNull(retryAfterOf({ "retry-after": "" }, nowMs))
    assert.isNull(retryAfterOf({}, nowMs))
    assert.strictEqual(retryAfterOf({ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, nowMs), 0)
    assert.strictEqual(retryAfterOf({ "retry-after": "0.25" }, nowMs), 250)
  })
})

describe("retryAfterOf", () => {
  const waits: ReadonlyArray<readonly [string, Record<string, string | Array<string>>, number | null]> = [
    ["a fraction", { "retry-after": "1.5" }, 1_500],
    ["blanks around it", { "retry-after": " 2 " }, 2_000],
    ["two headers", { "retry-after": ["3", "9"] }, 9_000],
    ["one good one of two", { "retry-after": ["soon", "9"] }, 9_000],
    ["milliseconds twice", { "retry-after-ms": ["10", "20"] }, 20],
    ["milliseconds that make no sense", { "retry-after-ms": "NaN", "retry-after": "1" }, 1_000],
    ["a date that is over", { "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, 0],
    ["a date next year", { "retry-after": "Sun, 21 Nov 2027 12:00:00 GMT" }, 86_400_000],
    ["a thousand years", { "retry-after": "31557600000" }, 86_400_000],
    ["more digits than a number has", { "retry-after": "9".repeat(400) }, 86_400_000],
    ["an exponent", { "retry-after": "1e999" }, null],
    ["Infinity", { "retry-after": "Infinity" }, null],
    ["a negative number", { "retry-after": "-5" }, null],
    ["hexadecimal digits", { "retry-after": "0x10" }, null],
    ["no date", { "retry-after": "Mon, later" }, null],
    ["nothing", { "retry-after": "" }, null]
  ]
  it.each(waits)("%s", (_name, headers, expected) => {
    assert.strictEqual(retryAfterOf(headers, nowMs), expected)
  })
})

describe("faultOf", () => {
  it("takes our key out of the provider's message and cuts it to 500 characters", () => {
    const { reason } = faultOf("alpha", rejected(400, `key sk-secret is odd ${"x".repeat(600)}`), "sk-secret")
    assert.instanceOf(reason, Rejected)
    if (reason._tag === "Rejected") {
      assert.strictEqual(reason.message.length, 500)
      assert.isTrue(reason.message.startsWith("key [key] is odd"))
    }
  })

  it("keeps what the provider said beside the reason, without secrets and quoted texts, in 300 characters", () => {
    const said = (text: string) =>
      faultOf("alpha", reasonOfStatus(401, {}, JSON.stringify({ error: { message: text } }), nowMs), "our own key")
    const error = said("Incorrect API key provided: sk-fl****ky, or our own key.")
    assert.deepStrictEqual(error.reason, new CredentialsRefused({ status: 401 }))
    assert.strictEqual(error.words, "Incorrect API key provided: [secret], or [key].")
    assert.strictEqual(said(`Bearer abc ${"q1".repeat(20)} eyJhbGciOi.x.y`).words, "[secret] [secret] [secret]")
    assert.strictEqual(
      said("'my own prompt' is \"not\" a `messages[0].content`").words,
      `… is "not" a \`messages[0].content\``
    )
    assert.strictEqual(said("a word ".repeat(100)).words?.length, 300)
    assert.isUndefined(faultOf("alpha", new ServerFault({ status: 500, retryAfterMs: null }), "key").words)
  })
})
