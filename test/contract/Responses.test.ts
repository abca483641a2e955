/**
 * Chat completions over a provider that is called by OpenAI's Responses API, seen from both ends:
 * OpenAI's library asks, and a provider in another process receives.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import OpenAI from "openai"
import { defaultTimeouts, type ProviderConfig, unknownPolicy } from "../../src/domain/Catalog.ts"
import { type SettingsShape } from "../../src/Settings.ts"
import { joinedMember } from "../../src/gateway/reply/DeltaMembers.ts"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { useUpstream } from "../faults/gateway.ts"
import { TestApp } from "../support/TestApp.ts"
import { errorBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import {
  callItem,
  customCallItem,
  messageItem,
  reasoningItem,
  refusalItem,
  responseBody,
  responseChunks
} from "../support/upstream/ResponseBodies.ts"

const upstream = useUpstream()
let made = 0

type Items = Parameters<typeof responseBody>[0]
type Asked = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "stream">
type Message = OpenAI.ChatCompletionMessage & Readonly<Record<string, unknown>>
type Members = Readonly<Record<string, unknown>>
interface Answer {
  readonly message: Message
  readonly finish_reason: string
}

const modes = ["JSON", "stream"] as const
type Mode = (typeof modes)[number]

/** A response of these items, whole or as a stream. */
const says = (mode: Mode, output: Items, members: Parameters<typeof responseBody>[1] = {}): Behaviour =>
  mode === "JSON" ? { json: responseBody(output, members) } : { chunks: responseChunks(output, members) }

/** A gateway in front of one provider, which answers one behaviour after the other. */
const deployed = Effect.fnUntraced(function* (
  does: ReadonlyArray<Behaviour>,
  { budgetNano = null, ...settings }: Partial<SettingsShape> & { readonly budgetNano?: number | null } = {}
): Effect.fn.Return<
  {
    readonly ask: (mode: Mode, asked: Asked) => Effect.Effect<Answer>
    readonly refused: (mode: Mode, asked: Asked) => Effect.Effect<InstanceType<typeof OpenAI.APIError>>
    readonly received: Effect.Effect<ReadonlyArray<{ readonly path: string; readonly body: Members }>>
    readonly receipts: Effect.Effect<ReadonlyArray<Members>>
  },
  never,
  Scope.Scope
> {
  const name = `gpt-6-test-${made++}`
  yield* Effect.promise(() => upstream().script(name, does))
  const provider: ProviderConfig = {
    slug: "alpha",
    name: "alpha",
    dialect: "openai",
    baseUrl: upstream().url,
    apiKey: Redacted.make("sk-of-the-provider"),
    auth: { type: "bearer" },
    headers: {},
    query: {},
    dataPolicy: unknownPolicy,
    timeouts: { ...defaultTimeouts, firstTokenMs: 30_000, idleMs: 30_000 },
    models: [{ ...scriptedOffer("test/small"), upstream: name, hidesReasoning: true, api: "responses" }]
  }
  const built = yield* Effect.orDie(Layer.build(TestApp.layer({ settings: { ...settings, providers: [provider] } })))
  const app = Context.get(built, TestApp)
  const { secret: apiKey } = yield* app.issueKey({ monthlyBudgetNano: budgetNano })
  const openai = new OpenAI({ baseURL: `${app.url}/v1`, apiKey, maxRetries: 0 })

  const send = async (mode: Mode, asked: Asked): Promise<Answer> => {
    const request = { ...asked, model: "test/small" }
    if (mode === "JSON") {
      const [choice] = (await openai.chat.completions.create(request)).choices
      return choice === undefined ? assert.fail("an answer without a choice") : (choice as unknown as Answer)
    }
    // The library's own assembler keeps only the last piece of members that it does not know.
    let message: unknown = {}
    let finish_reason = ""
    for await (const { choices } of await openai.chat.completions.create({ ...request, stream: true })) {
      message = joinedMember("", message, choices[0]?.delta)
      finish_reason = choices[0]?.finish_reason ?? finish_reason
    }
    return { message: message as Message, finish_reason }
  }
  return {
    ask: (mode, asked) => Effect.promise(() => send(mode, asked)),
    refused: (mode, asked) =>
      Effect.promise(() =>
        send(mode, asked).then(
          () => assert.fail("it was answered"),
          (error: unknown) => (error instanceof OpenAI.APIError ? error : assert.fail(String(error)))
        )
      ),
    received: Effect.map(
      Effect.promise(() => upstream().requests()),
      (requests) =>
        requests.filter(({ model }) => model === name).map(({ body, path }) => ({ path, body: body as Members }))
    ),
    receipts: Effect.map(
      app.send("/v1/generations", { key: apiKey }),
      ({ text }) => (JSON.parse(text) as { readonly data: ReadonlyArray<Members> }).data
    )
  }
})

const user = (content: string) => ({ role: "user" as const, content })
const eachMode = modes.map((mode) => ({ mode }))

describe("a model called by the Responses API", () => {
  it.live.each(eachMode)("answers with text, and its usage is on the receipt ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const usage = { prompt_tokens: 30, completion_tokens: 8, cached_tokens: 20 }
      const { ask, receipts, received } = yield* deployed([says(mode, [messageItem("Hello there.")], { usage })])
      const { finish_reason, message } = yield* ask(mode, {
        messages: [{ role: "system", content: "Be kind." }, user("hi")],
        max_completion_tokens: 300,
        reasoning_effort: "low"
      })
      assert.deepStrictEqual([message.content, finish_reason], ["Hello there.", "stop"])
      const [call] = yield* received
      assert.strictEqual(call?.path, "/v1/responses")
      assert.deepInclude(call?.body, {
        instructions: "Be kind.",
        input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
        max_output_tokens: 300,
        reasoning: { effort: "low" },
        include: ["reasoning.encrypted_content"],
        store: false,
        stream: mode === "stream"
      })
      const [receipt] = yield* receipts
      assert.deepInclude(receipt, { provider: "alpha", usage_source: "provider", finish_reason: "stop" })
      assert.deepInclude(receipt?.["usage"], { prompt_tokens: 30, completion_tokens: 8, cached_tokens: 20 })
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("continues its encrypted reasoning after tool calls ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const calls = [callItem("call_1", "weather", '{"place":"Bern"}'), customCallItem("call_2", "sh", "date")]
      const { ask, received } = yield* deployed([
        says(mode, [reasoningItem(["I need both."], "gAAAA-encrypted"), ...calls]),
        says(mode, [messageItem("Sunny on Monday.")])
      ])
      const tools: OpenAI.ChatCompletionTool[] = [
        { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } },
        { type: "custom", custom: { name: "sh" } }
      ]
      const { finish_reason, message } = yield* ask(mode, { messages: [user("weather and date")], tools })
      assert.strictEqual(finish_reason, "tool_calls")
      assert.strictEqual(message["reasoning"], "I need both.")
      const after = yield* ask(mode, {
        tools,
        messages: [
          user("weather and date"),
          message,
          { role: "tool", tool_call_id: "call_1", content: "sunny" },
          { role: "tool", tool_call_id: "call_2", content: "Monday" }
        ]
      })
      assert.strictEqual(after.message.content, "Sunny on Monday.")
      const [, second] = yield* received
      const input = second?.body["input"] as ReadonlyArray<Members>
      const thought = input.find(({ type }) => type === "reasoning")
      assert.strictEqual(thought?.["encrypted_content"], "gAAAA-encrypted")
      assert.notProperty(thought, "id")
      assert.deepStrictEqual(
        input.map(({ type }) => type),
        ["message", "reasoning", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output"]
      )
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("answers by a schema, and refuses in words ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const { ask, received } = yield* deployed([
        says(mode, [messageItem('{"name":"Ada"}')]),
        says(mode, [refusalItem("I can't help with that.")])
      ])
      const schema = { type: "object", properties: { name: { type: "string" } } }
      const response_format = { type: "json_schema" as const, json_schema: { name: "person", schema, strict: true } }
      const { message } = yield* ask(mode, { messages: [user("who?")], response_format })
      assert.deepStrictEqual(JSON.parse(message.content ?? ""), { name: "Ada" })
      assert.deepStrictEqual((yield* received)[0]?.body["text"], {
        format: { type: "json_schema", name: "person", schema, strict: true }
      })
      const refused = yield* ask(mode, { messages: [user("who else?")], response_format })
      assert.strictEqual(refused.message.refusal, "I can't help with that.")
      assert.isNotOk(refused.message.content)
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("ends with `length` where its limit cut it ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const cut = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
      const { ask } = yield* deployed([says(mode, [messageItem("The capital of")], cut)])
      const { finish_reason } = yield* ask(mode, { messages: [user("hi")], max_tokens: 16 })
      assert.strictEqual(finish_reason, "length")
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("fails with the vendor's words on a context overflow and a policy ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const overflow = "Your input exceeds the context window of this model."
      const { receipts, refused } = yield* deployed([
        { status: 400, json: errorBody(overflow, { param: "input", code: "context_length_exceeded" }) },
        { status: 400, json: errorBody("flagged", { param: "input", code: "invalid_prompt" }) }
      ])
      const long = yield* refused(mode, { messages: [user("long")] })
      assert.strictEqual(long.status, 400)
      assert.strictEqual(long.code, "context_length_exceeded")
      const flagged = yield* refused(mode, { messages: [user("bad")] })
      assert.strictEqual(flagged.status, 400)
      assert.include(flagged.message, "flagged")
      assert.strictEqual(flagged.param, "messages")
      for (const receipt of yield* receipts) assert.nestedPropertyVal(receipt, "cost.billed_usd", 0)
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("refuses what the API cannot do before it is called ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const { received, refused } = yield* deployed([says(mode, [messageItem("hi")])])
      const error = yield* refused(mode, { messages: [user("hi")], stop: "END" })
      assert.deepStrictEqual([error.status, error.code, error.param], [400, "unsupported_parameter", "stop"])
      assert.isEmpty(yield* received)
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("is masked in every place, and restored in its answer ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const email = "ann.smith@example.com"
      const { ask, received } = yield* deployed(
        [
          says(mode, [
            reasoningItem(["About [EMAIL_1]."], "gAAAA"),
            messageItem("I write to [EMAIL_1]."),
            callItem("call_1", "mail", '{"to":"[EMAIL_1]"}')
          ])
        ],
        { privacy: { ...noPrivacy, mode: "mask" } }
      )
      const { message } = yield* ask(mode, {
        messages: [
          { role: "system", content: `You are ${email}.` },
          user(`Write to ${email}.`),
          {
            role: "assistant",
            content: `To ${email}?`,
            tool_calls: [
              { id: "call_0", type: "custom", custom: { name: "sh", input: `mail ${email}` } },
              { id: "call_00", type: "function", function: { name: "mail", arguments: `{"to":"${email}"}` } }
            ]
          },
          { role: "tool", tool_call_id: "call_0", content: `sent to ${email}` },
          { role: "tool", tool_call_id: "call_00", content: [{ type: "text", text: `sent to ${email}` }] }
        ],
        tools: [{ type: "function", function: { name: "mail", description: `mails ${email}`, parameters: {} } }]
      })
      assert.strictEqual(message.content, `I write to ${email}.`)
      assert.strictEqual(message["reasoning"], `About ${email}.`)
      const [call] = message.tool_calls ?? []
      assert.strictEqual(call?.type === "function" && call.function.arguments, `{"to":"${email}"}`)
      const [request] = yield* received
      const raw = JSON.stringify(request?.body)
      assert.notInclude(raw, email)
      assert.lengthOf(raw.match(/\[EMAIL_1\]/g) ?? [], 8)
    }).pipe(Effect.scoped)
  )

  it.live.each(eachMode)("is bounded by the key's budget ($mode)", ({ mode }) =>
    Effect.gen(function* () {
      const body = { messages: [user("hi")], max_tokens: 1_000 }
      const poor = yield* deployed([says(mode, [messageItem("hi")])], { budgetNano: 5_000 })
      assert.strictEqual((yield* poor.refused(mode, body)).status, 402)
      assert.isEmpty(yield* poor.received)
      const { ask, received } = yield* deployed([says(mode, [messageItem("hi")])], { budgetNano: 100_000 })
      assert.strictEqual((yield* ask(mode, body)).message.content, "hi")
      const [call] = yield* received
      assert.isBelow(Number(call?.body["max_output_tokens"]), 100)
    }).pipe(Effect.scoped)
  )
})
