/** Requests of the Responses API as chat completions: what is translated, left out, refused. */
import { assert, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { ResponsesRequest } from "../../../src/api/responses/Request.ts"
import { translated } from "../../../src/http/responses/Request.ts"

type Members = Readonly<Record<string, unknown>>

const body = (more: Members): ResponsesRequest => ({ model: "test/small", input: "Hi", stream: false, ...more })
const asked = (more: Members) => Result.getOrThrow(translated(body(more)))
const refusal = (more: Members) => {
  const read = translated(body(more))
  return Result.isFailure(read) ? read.failure : null
}

it("passes the parameters on under the names of chat completions", () => {
  const { accountObjects, dropped, only, request } = asked({
    instructions: "Be brief.",
    temperature: 0.5,
    top_p: 0.9,
    max_output_tokens: 200,
    prompt_cache_key: "thread-1",
    prompt_cache_options: { mode: "explicit", ttl: "12h" },
    prompt_cache_retention: "24h",
    service_tier: "flex",
    metadata: { team: "a" },
    safety_identifier: "user-1",
    user: "user-1",
    top_logprobs: 3,
    models: ["test/large"],
    provider: { order: ["one"] },
    store: true,
    include: ["reasoning.encrypted_content", "web_search_call.results"],
    truncation: "disabled",
    background: false,
    client_metadata: { "x-codex-installation-id": "1" },
    stream_options: { include_obfuscation: false }
  })
  assert.deepStrictEqual(request as unknown, {
    model: "test/small",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" }
    ],
    stream: false,
    max_completion_tokens: 200,
    temperature: 0.5,
    top_p: 0.9,
    prompt_cache_key: "thread-1",
    prompt_cache_options: { mode: "explicit", ttl: "12h" },
    prompt_cache_retention: "24h",
    service_tier: "flex",
    metadata: { team: "a" },
    safety_identifier: "user-1",
    user: "user-1",
    logprobs: true,
    top_logprobs: 3,
    models: ["test/large"],
    provider: { order: ["one"] }
  })
  assert.deepStrictEqual(dropped, [])
  assert.isNull(only)
  assert.isNull(accountObjects)
})

const decode = Schema.decodeUnknownResult(ResponsesRequest)

it("checks the types of the members that the vendor documents, and takes null and unknown ones", () => {
  const minimal = { model: "test/small", input: "Hi" }
  const faults: Members = {
    model: 1,
    input: 1,
    instructions: ["Be brief."],
    stream: "yes",
    store: "no",
    previous_response_id: 1,
    conversation: 1,
    background: 1,
    include: "reasoning.encrypted_content",
    max_output_tokens: 0,
    max_tool_calls: 1.5,
    temperature: 3,
    top_p: -1,
    top_logprobs: 21,
    reasoning: { effort: {} },
    text: { format: { type: null } },
    tools: [1],
    tool_choice: 1,
    parallel_tool_calls: "true",
    prompt_cache_key: 1,
    prompt_cache_options: "24h",
    prompt_cache_retention: 24,
    service_tier: 1,
    metadata: "a",
    safety_identifier: 1,
    user: 1,
    truncation: "some",
    context_management: {},
    prompt: "a",
    stream_options: true,
    client_metadata: "a",
    provider: { order: "a" },
    models: "a"
  }
  for (const [name, value] of Object.entries(faults)) {
    assert.isTrue(Result.isFailure(decode({ ...minimal, [name]: value })), name)
    if (name === "model") continue
    assert.isTrue(Result.isSuccess(decode({ ...minimal, [name]: null })), name)
  }
  assert.isTrue(Result.isSuccess(decode({ ...minimal, input: [{ type: "message", anything: 1 }], something_new: [1] })))
  assert.isTrue(Result.isFailure(decode({ ...minimal, input: ["Hi"] })))
  assert.isTrue(Result.isFailure(decode({ ...minimal, tools: Array.from({ length: 1_025 }, () => ({})) })))
  assert.isTrue(Result.isFailure(decode({ ...minimal, include: Array.from({ length: 65 }, () => "a") })))
})

it("names what it leaves out", () => {
  const { dropped, only } = asked({
    max_tool_calls: 3,
    context_management: [{ type: "compaction", compact_threshold: 1_000 }],
    moderation: { model: "omni" },
    reasoning: { effort: "low", context: "all_turns", mode: "pro", generate_summary: "auto" },
    image: {},
    something_new: 1,
    nothing: null
  })
  assert.deepStrictEqual(dropped, [
    "reasoning.context",
    "reasoning.mode",
    "reasoning.generate_summary",
    "max_tool_calls",
    "context_management",
    "moderation",
    "image",
    "something_new"
  ])
  assert.isNull(only)
})

it("bounds the names that it tells", () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`member_${at}`, 1]))
  assert.lengthOf(asked(many).dropped, 32)
})

it("refuses what no provider can serve here", () => {
  assert.strictEqual(refusal({ background: true })?.code, "unsupported_parameter")
  assert.strictEqual(refusal({ background: true })?.param, "background")
  assert.strictEqual(refusal({ input: [{ type: "item_reference", id: "msg_1" }] })?.param, "input.0")
  assert.strictEqual(refusal({ input: [{ type: "message", role: "critic", content: "Hm" }] })?.param, "input.0.role")
  assert.strictEqual(refusal({ input: [{ type: "function_call", name: "read" }] })?.param, "input.0.call_id")
  assert.strictEqual(refusal({ input: [{ type: "function_call", call_id: "call_1" }] })?.param, "input.0.name")
  for (const input of [null, "", [], [{ role: "user", content: "" }]])
    assert.strictEqual(refusal({ input })?.param, "input")
})

it("says which members need a provider of the Responses API", () => {
  const { accountObjects, only, request } = asked({ conversation: { id: "conv_1" } })
  assert.strictEqual(only?.param, "conversation")
  assert.match(only?.message ?? "", /^conversation: .* needs a provider of the Responses API\./)
  assert.strictEqual(accountObjects, "conversation")
  assert.lengthOf(request.messages, 1)
  assert.strictEqual(asked({ truncation: "auto" }).only?.param, "truncation")
  assert.strictEqual(asked({ text: { format: { type: "grammar", definition: "a" } } }).only?.param, "text.format")
  const stored = asked({ input: null, prompt: { id: "pmpt_1", variables: { name: "Ada" } } })
  assert.strictEqual(stored.only?.param, "prompt")
  assert.strictEqual(stored.accountObjects, "prompt")
  assert.include(JSON.stringify(stored.request.messages), "Ada")
})

it("translates the format of the answer", () => {
  const schema = { type: "object", properties: {} }
  const format = { type: "json_schema", name: "city", schema, strict: true, description: null }
  const { request } = asked({ text: { format, verbosity: "low" } })
  assert.deepStrictEqual(request.response_format as unknown, {
    type: "json_schema",
    json_schema: { name: "city", schema, strict: true }
  })
  assert.strictEqual(request["verbosity"], "low")
  assert.deepStrictEqual(asked({ text: { format: { type: "json_object" } } }).request.response_format as unknown, {
    type: "json_object"
  })
  assert.isUndefined(asked({ text: { format: { type: "text" } } }).request.response_format)
})

it("asks for the nearest effort, and tells where it is another", () => {
  const effort = (value: unknown) => {
    const { dropped, request } = asked({ reasoning: { effort: value } })
    return [request.reasoning_effort, dropped.includes("reasoning.effort")]
  }
  for (const known of ["none", "minimal", "low", "medium", "high", "xhigh", "max"]) {
    assert.deepStrictEqual(effort(known), [known, false])
  }
  assert.deepStrictEqual(effort("ultra"), ["max", true])
  assert.deepStrictEqual(effort("persistent"), ["max", true])
  assert.deepStrictEqual(effort("hihg"), ["high", true])
  assert.deepStrictEqual(effort("quite a lot"), ["medium", true])
  assert.deepStrictEqual(effort(0), ["none", true])
  assert.deepStrictEqual(effort(0.5), ["medium", true])
  assert.deepStrictEqual(effort(1), ["max", true])
  assert.deepStrictEqual(effort(50), ["medium", true])
  assert.deepStrictEqual(effort(null), [undefined, false])
  assert.deepStrictEqual(asked({ reasoning: { summary: "auto" } }).request["reasoning"], { summary: "auto" })
})

it("takes the settings that an item changes", () => {
  const { request } = asked({
    reasoning: { effort: "low" },
    input: [
      { role: "user", content: "Hi" },
      { type: "configuration_update", reasoning: { effort: "medium" } },
      { type: "configuration_update", reasoning: { effort: "high" }, text: { format: { type: "json_object" } } }
    ]
  })
  assert.strictEqual(request.reasoning_effort, "high")
  assert.deepStrictEqual(request.response_format as unknown, { type: "json_object" })
})
