/**
 * The native lane of the Responses API, over HTTP on both sides: a provider of the same API gets
 * the client's request as it is, and the client gets the provider's answer as it is.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { useUpstream } from "../faults/gateway.ts"
import { nativeGateway } from "./nativeGateway.ts"
import { assembledResponse } from "../support/responseEvents.ts"
import { triedOnce } from "../support/testSettings.ts"
import { eventsIn, message, nativeEvents, nativeResponse, streamed, streamedMessage } from "./nativeResponses.ts"

type Members = Readonly<Record<string, unknown>>

const upstream = useUpstream()
const modes = [false, true]

const gatewayOf = nativeGateway(upstream, {
  native: { api: "responses" },
  path: "/v1/responses",
  request: { input: "Hi" }
})

const hello = (stream: boolean) =>
  stream ? streamed(nativeEvents([streamedMessage("Hel", "lo")])) : { json: nativeResponse([message("Hello")]) }

/** The response that an answer ends with. */
const responseIn = (text: string) => (text.startsWith("{") ? JSON.parse(text) : { ...assembledResponse(text).response })

const search = { type: "web_search", filters: { allowed_domains: ["a.example"] } }

it.live("sends the request as it came, with the provider's model, the stream flag and store: false", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const asked = {
        instructions: "Be brief.",
        tools: [search, { type: "namespace", name: "git", tools: [{ type: "function", name: "log" }] }],
        reasoning: { effort: "ultra", context: "all_turns" },
        text: { verbosity: "low" },
        include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
        max_output_tokens: 100,
        client_metadata: { turn: "7" },
        a_new_member: { since: "tomorrow" }
      }
      const input = [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Hi" }] },
        { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
        { ...message("Found."), phase: "final_answer" },
        { type: "unheard_of", members: [1, { deep: true }] }
      ]
      for (const stream of modes) {
        const gateway = yield* gatewayOf({ does: hello(stream), maxCompletionTokens: 1_000 })
        const { headers, status } = yield* gateway.send(
          { ...asked, input, stream, store: true, provider: { sort: "price" } },
          { headers: { "openai-beta": "responses=v2", "openai-organization": "org_other" } }
        )
        assert.deepStrictEqual([status, headers.get("x-tollgate-dropped")], [200, null])
        const [call] = yield* gateway.calls("alpha")
        const { id: _, ...said } = { ...message("Found."), phase: "final_answer" } as Members
        assert.deepStrictEqual(call?.body, {
          ...asked,
          input: [input[0], input[1], said, input[3]],
          stream,
          store: false,
          model: call?.model
        })
        assert.strictEqual(call?.path, "/v1/responses")
        assert.strictEqual(call?.headers["openai-beta"], "responses=v2")
        assert.isUndefined(call?.headers["openai-organization"])
      }
    })
  )
)

it.live("gives the answer as it came, with the gateway's id, the asked model and the billed usage", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const call = {
        id: "ws_1",
        type: "web_search_call",
        status: "completed",
        action: { type: "search", query: "q", sources: [{ type: "url", url: "https://a.example" }] }
      }
      const unheard = { id: "un_1", type: "unheard_of", since: "tomorrow" }
      const cited = {
        ...message("Found"),
        content: [
          {
            type: "output_text",
            text: "Found",
            annotations: [{ type: "url_citation", url: "https://a.example", title: "A", start_index: 0, end_index: 5 }],
            logprobs: []
          }
        ]
      }
      const output = [call, cited, unheard]
      const more = { tool_usage: { web_search: { num_requests: 1 } }, temperature: 0.3 }
      const gateway = yield* gatewayOf({ does: { json: nativeResponse(output, more) } })
      const whole = yield* gateway.send({ tools: [search], metadata: { run: "7" } })
      const answer = JSON.parse(whole.text)
      assert.match(answer.id, /^resp_(?!vendor)/)
      assert.deepInclude(answer, {
        output,
        ...more,
        model: "test/small",
        metadata: { run: "7" },
        tools: [search],
        store: false,
        reasoning: { effort: "medium", summary: null }
      })
      assert.deepInclude(answer.usage, {
        input_tokens: 16,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
        output_tokens: 7,
        total_tokens: 23
      })
      const receipt = JSON.parse(
        (yield* gateway.app.send(`/v1/generations/${whole.headers.get("x-generation-id")}`, { key: gateway.key })).text
      )
      assert.deepStrictEqual([receipt.usage.prompt_tokens, receipt.usage.completion_tokens], [16, 7])

      const events = [
        ...nativeEvents(
          [
            {
              begun: { ...call, status: "in_progress", action: {} },
              pieces: [{ type: "response.web_search_call.searching", item_id: "ws_1" }],
              whole: call
            },
            { ...streamedMessage("Fou", "nd"), whole: cited },
            { begun: unheard, whole: unheard }
          ],
          more
        )
      ]
      yield* gateway.rescript("alpha", streamed(events))
      const got = eventsIn((yield* gateway.send({ tools: [search], stream: true })).text)
      const plain = (event: Members): Members => ({ ...event, sequence_number: 0 })
      assert.deepStrictEqual(got.slice(2, -1).map(plain), events.slice(2, -1).map(plain))
      assert.deepStrictEqual(
        got.map(({ sequence_number }) => sequence_number),
        got.map((_, at) => at)
      )
      assert.deepInclude(got.at(-1).response, { id: got[0].response.id, output, ...more, status: "completed" })
      assert.strictEqual(got.at(-1).response.model, "test/small")
    })
  )
)

const summaryPieces = (text: string) => {
  const place = { item_id: "rs_vendor", summary_index: 0 }
  const part = { type: "summary_text", text }
  return [
    { type: "response.reasoning_summary_part.added", ...place, part: { ...part, text: "" } },
    { type: "response.reasoning_summary_text.delta", ...place, delta: text },
    { type: "response.reasoning_summary_text.done", ...place, text },
    { type: "response.reasoning_summary_part.done", ...place, part }
  ]
}

it.live("encrypted reasoning comes back to its vendor byte for byte, and goes to no other", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const reasoning = {
        id: "rs_vendor",
        type: "reasoning",
        summary: [{ type: "summary_text", text: "About [EMAIL_1]." }],
        encrypted_content: "gAAAAABn+/vendor=="
      }
      for (const stream of modes) {
        const said = stream
          ? streamed(
              nativeEvents([
                {
                  begun: { ...reasoning, summary: [], encrypted_content: "" },
                  pieces: summaryPieces("About [EMAIL_1]."),
                  whole: reasoning
                },
                streamedMessage("Yes.")
              ])
            )
          : { json: nativeResponse([reasoning, message("Yes.")]) }
        const gateway = yield* gatewayOf(
          { does: said },
          {
            beta: { api: "responses", models: ["other/small"], does: { json: nativeResponse([message("Beta.")]) } },
            gamma: {
              models: ["third/small"],
              does: { json: { choices: [{ message: { content: "Gamma." }, finish_reason: "stop" }] } }
            }
          },
          { privacy: { ...noPrivacy, mode: "mask" } }
        )
        const first = { role: "user", content: "Write to ann.smith@example.com" }
        const { text } = yield* gateway.send({ stream, input: [first] })
        const { output } = responseIn(text)
        assert.deepInclude(output[0], { type: "reasoning", summary: reasoning.summary })
        const input = [first, ...output, { role: "user", content: "And now?" }]
        yield* gateway.rescript("alpha", hello(false))
        yield* gateway.send({ input })
        const sent = (yield* gateway.calls("alpha")).at(-1)?.body as { readonly input: ReadonlyArray<Members> }
        const { id: _, ...own } = reasoning
        assert.deepStrictEqual(sent.input[1], own)
        for (const [slug, model] of [
          ["beta", "other/small"],
          ["gamma", "third/small"]
        ] as const) {
          assert.strictEqual((yield* gateway.send({ model, input })).status, 200)
          assert.notInclude((yield* gateway.calls(slug)).at(-1)?.rawBody, "gAAA")
        }
        // Encrypted content that is no carrier is the vendor's own.
        yield* gateway.send({ input: [first, reasoning, message("Yes."), first] })
        const foreign = (yield* gateway.calls("alpha")).at(-1)?.body as typeof sent
        assert.strictEqual(foreign.input[1]?.["encrypted_content"], reasoning.encrypted_content)
      }
    })
  )
)

it.live("masks both forms of a request alike, and restores every text but thoughts", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const email = "ann.smith@example.com"
      const settings = { privacy: { ...noPrivacy, mode: "mask" } }
      const argument = JSON.stringify({ to: "[EMAIL_1]" })
      const call = {
        id: "fc_1",
        type: "function_call",
        call_id: "call_1",
        name: "write",
        status: "completed",
        arguments: argument
      }
      const patch = { id: "ct_1", type: "custom_tool_call", call_id: "call_2", name: "patch", input: "+[EMAIL_1]" }
      const output = [message("To [EMAIL_1]"), call, patch]
      const restored = [
        { ...message(`To ${email}`) },
        { ...call, arguments: JSON.stringify({ to: email }) },
        { ...patch, input: `+${email}` }
      ]
      const body = {
        instructions: `You work for ${email}`,
        input: [
          { role: "user", content: [{ type: "input_text", text: `Write to ${email}` }] },
          { type: "function_call", call_id: "call_0", name: "write", arguments: JSON.stringify({ to: email }) },
          { type: "function_call_output", call_id: "call_0", output: `Sent to ${email}` }
        ],
        tools: [{ type: "function", name: "write" }],
        a_new_member: { note: `ask ${email}` }
      }
      const gateway = yield* gatewayOf({ does: { json: nativeResponse(output) } }, {}, settings)
      assert.deepStrictEqual(JSON.parse((yield* gateway.send(body)).text).output, restored)
      const [sent] = yield* gateway.calls("alpha")
      assert.notInclude(sent?.rawBody, email)
      assert.strictEqual(sent?.rawBody.match(/\[EMAIL_1\]/g)?.length, 5)

      const letters = (type: string, text: string) => text.split("").map((delta) => ({ type, delta }))
      yield* gateway.rescript(
        "alpha",
        streamed(
          nativeEvents([
            streamedMessage(..."To [EMAIL_1]".split("")),
            {
              begun: { ...call, arguments: "" },
              pieces: [
                ...letters("response.function_call_arguments.delta", argument),
                { type: "response.function_call_arguments.done", arguments: argument }
              ].map((piece) => ({ ...piece, item_id: "fc_1" })),
              whole: call
            },
            {
              begun: { ...patch, input: "" },
              pieces: [
                ...letters("response.custom_tool_call_input.delta", patch.input),
                { type: "response.custom_tool_call_input.done", input: patch.input }
              ].map((piece) => ({ ...piece, item_id: "ct_1" })),
              whole: patch
            }
          ])
        )
      )
      const { text } = yield* gateway.send({ ...body, stream: true })
      const { ending, output: assembled } = assembledResponse(text)
      assert.strictEqual(ending, "response.completed")
      assert.deepStrictEqual(assembled, restored)
    })
  )
)

it.live("a request that chat completions cannot express goes to providers of this API alone", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const chat = {
        does: { json: { choices: [{ message: { content: "Chat." }, finish_reason: "stop" }] } },
        price: 0.1
      }
      const gateway = yield* gatewayOf(
        { does: hello(false) },
        { beta: { ...chat, models: ["test/small", "other/small"] } }
      )
      const tools = [{ type: "code_interpreter", container: { type: "auto" } }]
      const served = yield* gateway.send({ tools })
      assert.deepStrictEqual([served.status, served.headers.get("x-tollgate-provider")], [200, "alpha"])
      const refused = yield* gateway.send({ tools, model: "other/small" })
      assert.strictEqual(refused.status, 400)
      assert.deepInclude(JSON.parse(refused.text).error, { code: "unsupported_parameter", param: "tools.0" })

      const file = [{ role: "user", content: [{ type: "input_file", file_id: "file_1" }] }]
      const stored = yield* gateway.send({ input: file })
      assert.strictEqual(stored.status, 400)
      assert.include(JSON.parse(stored.text).error.message, "account_objects")
      const open = yield* gatewayOf({ does: hello(false), accountObjects: true })
      assert.strictEqual((yield* open.send({ input: file })).status, 200)
      const [call] = yield* open.calls("alpha")
      assert.deepInclude(call?.body as Members, { input: file })
    })
  )
)

it.live("a refusal of the request goes out in the vendor's own words, and others do not", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const error = {
        message: "Unknown parameter: 'shiny'.",
        type: "invalid_request_error",
        param: "shiny",
        code: "unknown_parameter"
      }
      const gateway = yield* gatewayOf({ does: { status: 400, json: { error } } }, {}, { routing: triedOnce })
      for (const stream of modes) {
        const { status, text } = yield* gateway.send({ shiny: 1, stream })
        assert.strictEqual(status, 400)
        assert.deepInclude(JSON.parse(text).error, error)
      }
      const words = "Your input exceeds the context window of this model."
      yield* gateway.rescript("alpha", {
        status: 400,
        json: {
          error: { message: words, type: "invalid_request_error", param: "input", code: "context_length_exceeded" }
        }
      })
      const long = yield* gateway.send({ stream: true })
      assert.deepInclude(responseIn(long.text).error, { code: "context_length_exceeded", message: words })
      yield* gateway.rescript("alpha", { status: 401, json: { error: { message: "Incorrect API key sk-alpha" } } })
      const unpaid = yield* gateway.send({})
      assert.strictEqual(unpaid.status, 502)
      assert.notInclude(unpaid.text, "Incorrect")
    })
  )
)

it.live("a stream that breaks in a text goes on in the same item, and after reasoning it fails", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const events = nativeEvents([streamedMessage("Hel", "lo")])
      const cut = events.slice(0, 5)
      const chunk = (delta: Members, finish_reason: string | null = null) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`
      const beta = {
        prefill: true,
        does: { chunks: [chunk({ content: "lo" }), chunk({}, "stop"), "data: [DONE]\n\n"] }
      }
      const gateway = yield* gatewayOf({ does: streamed(cut) }, { beta })
      const { text } = yield* gateway.send({ stream: true })
      const { ending, output } = assembledResponse(text)
      assert.strictEqual(ending, "response.completed")
      assert.deepStrictEqual(output, [message("Hello")])

      const reasoning = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA" }
      const thought = nativeEvents([{ begun: reasoning, whole: reasoning }, streamedMessage("Hel", "lo")])
      const other = yield* gatewayOf({ does: streamed(thought.slice(0, 7)) }, { beta })
      const broken = assembledResponse((yield* other.send({ stream: true })).text)
      assert.strictEqual(broken.ending, "response.failed")
      assert.deepInclude(broken.error, { code: "server_error" })
      assert.lengthOf(broken.response["output"] as ReadonlyArray<unknown>, 2)
    })
  )
)

it.live("cut anywhere, a stream ends with its own end or with response.failed", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const events = nativeEvents([
        {
          begun: { id: "ws_1", type: "web_search_call", status: "in_progress" },
          whole: { id: "ws_1", type: "web_search_call", status: "completed" }
        },
        streamedMessage("Hel", "lo")
      ])
      const [whole = ""] = streamed(events).chunks as ReadonlyArray<string>
      const models = whole.split("").map((_, at) => `test/cut-${at}`)
      const every = 23
      const gateway = yield* gatewayOf({ does: streamed(events), models }, {}, { routing: triedOnce })
      for (let at = 0; at < whole.length; at += every) {
        yield* gateway.rescript("alpha", { chunks: [whole.slice(0, at)] })
        const { status, text } = yield* gateway.send({ model: `test/cut-${at}`, stream: true })
        if (status !== 200) assert.isAtLeast(status, 500)
        else assert.match(assembledResponse(text).ending ?? "", /^response\.(?:completed|failed)$/)
      }
    })
  )
)

it.live("a repeated Idempotency-Key gets the same bytes, without a second call", () =>
  Effect.scoped(
    Effect.gen(function* () {
      for (const stream of modes) {
        const gateway = yield* gatewayOf({ does: hello(stream) })
        const headers = { "idempotency-key": "once" }
        const first = yield* gateway.send({ stream, tools: [search] }, { headers })
        const again = yield* gateway.send({ stream, tools: [search] }, { headers })
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
        assert.strictEqual(responseIn(again.text).status, "completed")
        assert.lengthOf(yield* gateway.calls("alpha"), 1)
      }
    })
  )
)

it.live("an answer that reaches its limit is incomplete", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const more = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
      for (const stream of modes) {
        const does = stream
          ? streamed(nativeEvents([streamedMessage("Hel")], more))
          : { json: nativeResponse([message("Hel")], more) }
        const gateway = yield* gatewayOf({ does })
        const { text } = yield* gateway.send({ stream, max_output_tokens: 20 })
        assert.deepInclude(responseIn(text), { ...more, max_output_tokens: 20 })
      }
    })
  )
)
