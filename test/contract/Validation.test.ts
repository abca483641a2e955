/**
 * The 422: every fault of an invalid body at once, in the words of FastAPI and Pydantic; and valid
 * bodies that must be accepted.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { ask, errorOf, helloReply, named, seen } from "./wire.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

interface Fault {
  readonly loc: ReadonlyArray<string | number>
  readonly msg: string
  readonly type: string
  readonly input?: unknown
  readonly ctx?: Readonly<Record<string, unknown>>
}

const hi = { role: "user", content: "Hi" }
const missing = (...loc: ReadonlyArray<string | number>): Fault => ({ loc, msg: "Field required", type: "missing" })
const roles = { expected: "'system', 'developer', 'user', 'assistant', 'tool' or 'function'" }
const long = "x".repeat(65)

/** The body and its faults. A string is sent unchanged. */
const bad: ReadonlyArray<readonly [name: string, body: unknown, faults: ReadonlyArray<Fault>]> = [
  ["an empty object", {}, [missing("body", "model"), missing("body", "messages")]],
  ["no messages", { model: "m" }, [missing("body", "messages")]],
  ["no model", { messages: [hi] }, [missing("body", "model")]],
  [
    "a model that is a number",
    { model: 3, messages: [hi] },
    [{ loc: ["body", "model"], msg: "Input should be a valid string", type: "string_type", input: 3 }]
  ],
  [
    "an empty model",
    { model: "", messages: [hi] },
    [
      {
        loc: ["body", "model"],
        msg: "String should have at least 1 character",
        type: "string_too_short",
        input: "",
        ctx: { min_length: 1 }
      }
    ]
  ],
  [
    "messages that are a string",
    { model: "m", messages: "Hi" },
    [{ loc: ["body", "messages"], msg: "Input should be a valid list", type: "list_type", input: "Hi" }]
  ],
  [
    "empty messages",
    { model: "m", messages: [] },
    [
      {
        loc: ["body", "messages"],
        msg: "List should have at least 1 item after validation, not 0",
        type: "too_short",
        ctx: { field_type: "List", min_length: 1, actual_length: 0 }
      }
    ]
  ],
  [
    "a message that is a string",
    { model: "m", messages: ["Hi"] },
    [{ loc: ["body", "messages", 0], msg: "Input should be a valid dictionary", type: "dict_type", input: "Hi" }]
  ],
  [
    "an unknown role",
    { model: "m", messages: [hi, { role: "robot", content: "Hi" }] },
    [
      {
        loc: ["body", "messages", 1, "role"],
        msg: `Input should be ${roles.expected}`,
        type: "literal_error",
        input: "robot",
        ctx: roles
      }
    ]
  ],
  ["no role", { model: "m", messages: [{ content: "Hi" }] }, [missing("body", "messages", 0, "role")]],
  ["no content", { model: "m", messages: [{ role: "user" }] }, [missing("body", "messages", 0, "content")]],
  [
    "null content of a user",
    { model: "m", messages: [{ role: "user", content: null }] },
    [
      {
        loc: ["body", "messages", 0, "content"],
        msg: "Input should be a valid string or list; only messages of assistant, tool and function need none",
        type: "string_type",
        input: null
      }
    ]
  ],
  [
    "content that is a number",
    { model: "m", messages: [{ role: "user", content: 7 }] },
    [
      {
        loc: ["body", "messages", 0, "content"],
        msg: "Input should be a valid string or list",
        type: "string_type",
        input: 7
      }
    ]
  ],
  [
    "a content part that is a string",
    { model: "m", messages: [{ role: "user", content: ["Hi"] }] },
    [
      {
        loc: ["body", "messages", 0, "content", 0],
        msg: "Input should be a valid dictionary",
        type: "dict_type",
        input: "Hi"
      }
    ]
  ],
  [
    "a temperature above 2",
    ask("Hi", { temperature: 2.1 }),
    [
      {
        loc: ["body", "temperature"],
        msg: "Input should be less than or equal to 2",
        type: "less_than_equal",
        input: 2.1,
        ctx: { le: 2 }
      }
    ]
  ],
  [
    "a temperature below 0",
    ask("Hi", { temperature: -0.1 }),
    [
      {
        loc: ["body", "temperature"],
        msg: "Input should be greater than or equal to 0",
        type: "greater_than_equal",
        input: -0.1,
        ctx: { ge: 0 }
      }
    ]
  ],
  [
    "a temperature that is a string",
    ask("Hi", { temperature: "1" }),
    [{ loc: ["body", "temperature"], msg: "Input should be a valid number", type: "float_type", input: "1" }]
  ],
  [
    "a max_tokens of 0",
    ask("Hi", { max_tokens: 0 }),
    [
      {
        loc: ["body", "max_tokens"],
        msg: "Input should be greater than 0",
        type: "greater_than",
        input: 0,
        ctx: { gt: 0 }
      }
    ]
  ],
  [
    "a fractional max_tokens, below its bound as well: one fault a place",
    ask("Hi", { max_tokens: -1.5 }),
    [
      {
        loc: ["body", "max_tokens"],
        msg: "Input should be a valid integer, got a number with a fractional part",
        type: "int_type",
        input: -1.5
      }
    ]
  ],
  [
    "a stream that is a string",
    ask("Hi", { stream: "true" }),
    [{ loc: ["body", "stream"], msg: "Input should be a valid boolean", type: "bool_type", input: "true" }]
  ],
  [
    "a metadata that is a list",
    ask("Hi", { metadata: [] }),
    [{ loc: ["body", "metadata"], msg: "Input should be a valid dictionary", type: "dict_type" }]
  ],
  [
    "an unknown sort axis",
    ask("Hi", { provider: { sort: "cheapest" } }),
    [
      {
        loc: ["body", "provider", "sort"],
        msg: "Input should be 'price', 'throughput' or 'latency'",
        type: "literal_error",
        input: "cheapest",
        ctx: { expected: "'price', 'throughput' or 'latency'" }
      }
    ]
  ],
  [
    "a provider order that holds a number",
    ask("Hi", { provider: { order: ["alpha", 1], allow_fallbacks: "no" } }),
    [
      { loc: ["body", "provider", "order", 1], msg: "Input should be a valid string", type: "string_type", input: 1 },
      {
        loc: ["body", "provider", "allow_fallbacks"],
        msg: "Input should be a valid boolean",
        type: "bool_type",
        input: "no"
      }
    ]
  ],
  [
    "n above 128, top_p above 1, penalties out of bounds: all listed",
    ask("Hi", { n: 129, top_p: 1.5, presence_penalty: -3 }),
    [
      {
        loc: ["body", "n"],
        msg: "Input should be less than or equal to 128",
        type: "less_than_equal",
        input: 129,
        ctx: { le: 128 }
      },
      {
        loc: ["body", "top_p"],
        msg: "Input should be less than or equal to 1",
        type: "less_than_equal",
        input: 1.5,
        ctx: { le: 1 }
      },
      {
        loc: ["body", "presence_penalty"],
        msg: "Input should be greater than or equal to -2",
        type: "greater_than_equal",
        input: -3,
        ctx: { ge: -2 }
      }
    ]
  ],
  [
    "a string of 65 characters is cut at 64",
    { model: "m", messages: long },
    [
      {
        loc: ["body", "messages"],
        msg: "Input should be a valid list",
        type: "list_type",
        input: `${"x".repeat(64)}…`
      }
    ]
  ],
  ["a list", "[]", [{ loc: ["body"], msg: "Input should be a valid dictionary", type: "dict_type" }]],
  ["a string", '"Hi"', [{ loc: ["body"], msg: "Input should be a valid dictionary", type: "dict_type", input: "Hi" }]],
  ["null", "null", [{ loc: ["body"], msg: "Input should be a valid dictionary", type: "dict_type", input: null }]],
  ["nothing", "", [missing("body")]],
  [
    "an object that does not end",
    '{"model": "m"',
    [
      {
        loc: ["body", 13],
        msg: "JSON decode error",
        type: "json_invalid",
        ctx: { error: "Expected ',' or '}' after property value in JSON", line: 1, column: 14 }
      }
    ]
  ],
  [
    "a trailing comma in the third line",
    '{"model": "m",\n"messages": [],\n  }',
    [
      {
        loc: ["body", 33],
        msg: "JSON decode error",
        type: "json_invalid",
        ctx: { error: "Expected double-quoted property name in JSON", line: 3, column: 3 }
      }
    ]
  ],
  [
    "NaN",
    '{"model":"m","messages":[],"temperature":NaN}',
    [{ loc: ["body"], msg: "JSON decode error", type: "json_invalid", ctx: { error: "Unexpected token 'N'" } }]
  ],
  [
    "no JSON at all",
    "model=test/small",
    [{ loc: ["body"], msg: "JSON decode error", type: "json_invalid", ctx: { error: "Unexpected token 'm'" } }]
  ],
  [
    "nesting beyond 128 levels",
    `{"model":"m","messages":${"[".repeat(128)}${"]".repeat(128)}}`,
    [
      {
        loc: ["body"],
        msg: "JSON decode error",
        type: "json_invalid",
        ctx: { error: "nested deeper than 128 levels" }
      }
    ]
  ]
]

it.effect.each(bad)("422: %s", ([, body, faults]) =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const headers = { "content-type": "application/json", ...named().headers }
    const answered = seen(yield* chat(body, { key: secret, headers }))
    assert.strictEqual(answered.status, 422, answered.body)
    assert.deepStrictEqual(answered.headers, { "content-type": "application/json", "x-request-id": "r-1" })
    const [first] = faults
    assert.isDefined(first)
    const isJson = first?.type !== "json_invalid"
    const places = faults.slice(1).map(({ loc }) => loc.join("."))
    const rest = places.length > 5 ? ` and ${places.length - 5} more` : ""
    const more = places.length > 0 ? ` (also at fault: ${places.slice(0, 5).join(", ")}${rest})` : ""
    const error = errorOf({
      type: "invalid_request_error",
      code: "validation_failed",
      message: isJson
        ? `${first?.loc.join(".")}: ${first?.msg}${more}`
        : `body: JSON decode error${first?.loc.length === 2 ? ` at line ${String(first.ctx?.["line"])}, column ${String(first.ctx?.["column"])}` : ""}: ${String(first?.ctx?.["error"])}`,
      ...(first?.loc.length === 1 || !isJson ? {} : { param: first?.loc.slice(1).join(".") ?? "" })
    })
    assert.deepStrictEqual(JSON.parse(answered.body), { detail: faults, error })
    assert.isTrue(answered.body.startsWith('{"detail":[{"loc":["body"'), "detail is first")
  }).pipe(Effect.provide(app))
)

it.effect("422: a body whose content type is not JSON", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const type of ["text/plain", "application/problem+json", "multipart/form-data; boundary=x"]) {
      const answered = yield* chat(JSON.stringify(ask("Hi")), { key: secret, headers: { "content-type": type } })
      assert.strictEqual(answered.status, 422)
      assert.deepStrictEqual(JSON.parse(answered.text).detail, [
        {
          loc: ["header", "content-type"],
          msg: "Input should be 'application/json'",
          type: "literal_error",
          input: type,
          ctx: { expected: "'application/json'" }
        }
      ])
    }
    for (const type of ["application/json; charset=utf-8", "Application/JSON"]) {
      const answered = yield* chat(JSON.stringify(ask("Hi")), { key: secret, headers: { "content-type": type } })
      assert.strictEqual(answered.status, 200, type)
    }
    const untyped = yield* chat(new TextEncoder().encode(JSON.stringify(ask("Hi"))), { key: secret })
    assert.strictEqual(untyped.status, 200, "no content type at all")
  }).pipe(Effect.provide(app))
)

it.effect("422: query and path", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const detail = (path: string, request: object) =>
      Effect.map(send(path, request), ({ status, text }) => {
        assert.strictEqual(status, 422, text)
        return JSON.parse(text).detail
      })
    const integer = "Input should be a valid integer, unable to parse string as an integer"
    const fault = (name: string, input: string, type: string, msg: string, ctx?: object) => ({
      loc: ["query", name],
      msg,
      type,
      input,
      ...(ctx === undefined ? {} : { ctx })
    })
    assert.deepStrictEqual(yield* detail("/v1/generations?limit=abc", { key: secret }), [
      fault("limit", "abc", "int_parsing", integer)
    ])
    assert.deepStrictEqual(yield* detail("/v1/generations?limit=1.5", { key: secret }), [
      fault("limit", "1.5", "int_parsing", integer)
    ])
    assert.deepStrictEqual(yield* detail("/v1/generations?limit=101&from=yesterday", { key: secret }), [
      fault("limit", "101", "less_than_equal", "Input should be less than or equal to 100", { le: 100 }),
      fault("from", "yesterday", "datetime_parsing", "Input should be a valid datetime, in RFC 3339 with a time zone")
    ])
    assert.deepStrictEqual(yield* detail("/v1/keys?limit=0", { headers: { "x-admin-key": adminKey } }), [
      fault("limit", "0", "greater_than_equal", "Input should be greater than or equal to 1", { ge: 1 })
    ])
    assert.deepStrictEqual(yield* detail("/v1/keys?cursor=x", { headers: { "x-admin-key": adminKey } }), [
      fault("cursor", "x", "string_pattern_mismatch", "String should have the expected form")
    ])
  }).pipe(Effect.provide(app))
)

it.effect("a prompt never appears in a 422", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const prompt = "my passport number is L898902C3 and nobody else may ever come to know it, least of all a log"
    const answered = yield* chat(
      { model: "m", messages: [{ role: prompt, content: { text: prompt } }], temperature: prompt, [prompt]: prompt },
      { key: secret }
    )
    assert.strictEqual(answered.status, 422)
    for (const { input } of JSON.parse(answered.text).detail) assert.isAtMost(String(input ?? "").length, 65)
    assert.notInclude(answered.text, prompt.slice(0, 65))
  }).pipe(Effect.provide(app))
)

it.effect("accepted: optional fields that are null, unknown fields, duplicate members (the last wins)", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const optional = [
      "temperature max_tokens stream user metadata provider response_format models max_completion_tokens",
      "stream_options n top_p stop seed presence_penalty frequency_penalty logprobs top_logprobs logit_bias tools",
      "tool_choice parallel_tool_calls reasoning_effort modalities prediction service_tier"
    ]
      .join(" ")
      .split(" ")
    for (const name of optional) {
      const answered = yield* chat(ask("Hi", { [name]: null }), { key: secret })
      assert.strictEqual(answered.status, 200, `${name}: ${answered.text}`)
    }
    const nothings = { sort: null, order: null, data_collection: null, only: null, ignore: null, max_price: null }
    const accepted: ReadonlyArray<unknown> = [
      ask("Hi", Object.fromEntries(optional.map((name) => [name, null]))),
      ask("Hi", { provider: nothings }),
      ask("Hi", { provider: {} }),
      ask("Hi", { verbosity: "low", web_search_options: {}, "x-y": [1, null] }),
      ask("Hi", { temperature: 0, top_p: 0 }),
      ask("Hi", { temperature: 2, stop: ["a", "b"] }),
      ask("Hi", { tool_choice: { type: "function", function: { name: "f" } }, tools: [] }),
      { model: "test/small", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }], name: null, x: 1 }] },
      {
        model: "test/small",
        messages: [{ role: "assistant", content: null, tool_calls: [{ id: "c", type: "function" }] }]
      },
      { model: "test/small", messages: [{ role: "user", content: "" }] },
      { model: "test/small", messages: [hi, { role: "tool", tool_call_id: "c", content: "42" }] },
      '{"model":"no/such","model":"test/small","messages":[{"role":"user","content":"Hi"}]}',
      `{"model":"test/small","messages":[{"role":"user","content":"${"[".repeat(300)}"}]}`
    ]
    for (const body of accepted) {
      const answered = yield* chat(body, { key: secret, headers: { "content-type": "application/json" } })
      assert.strictEqual(answered.status, 200, `${JSON.stringify(body)}: ${answered.text}`)
    }
  }).pipe(Effect.provide(app))
)

it.effect("422 on the other bodies: embeddings and keys", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const faults = (path: string, body: unknown, method = "POST") =>
      Effect.map(
        send(path, { method, body, key: secret, headers: { "x-admin-key": adminKey } }),
        ({ status, text }) => {
          assert.strictEqual(status, 422, text)
          return JSON.parse(text).detail.map(({ loc, type }: Fault) => `${loc.join(".")} ${type}`)
        }
      )
    assert.deepStrictEqual(yield* faults("/v1/embeddings", {}), ["body.model missing", "body.input missing"])
    assert.deepStrictEqual(yield* faults("/v1/embeddings", { model: "m", input: [] }), ["body.input too_short"])
    assert.deepStrictEqual(yield* faults("/v1/embeddings", { model: "m", input: [true] }), ["body.input string_type"])
    assert.deepStrictEqual(
      yield* faults("/v1/embeddings", { model: "m", input: "x", dimensions: 0, encoding_format: "hex" }),
      ["body.dimensions greater_than", "body.encoding_format literal_error"]
    )
    assert.deepStrictEqual(yield* faults("/v1/keys", { tier: "gold", monthly_budget_usd: -1 }), [
      "body.name missing",
      "body.tier literal_error",
      "body.monthly_budget_usd greater_than_equal"
    ])
    assert.deepStrictEqual(yield* faults("/v1/keys", { name: "a\u0000b", scopes: ["root"], expires_at: "soon" }), [
      "body.name string_pattern_mismatch",
      "body.scopes.0 literal_error",
      "body.expires_at datetime_parsing"
    ])
    assert.deepStrictEqual(yield* faults("/v1/keys/key_1", { status: "revoked" }, "PATCH"), [
      "body.status literal_error"
    ])
    assert.deepStrictEqual(yield* faults("/v1/keys/key_1/rotate", { grace_seconds: 2_592_001 }), [
      "body.grace_seconds less_than_equal"
    ])
  }).pipe(Effect.provide(app))
)
