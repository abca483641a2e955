/**
 * The native lane of the Messages API, over HTTP on both sides: a provider of the same API gets the
 * client's request as it is, and the client gets the provider's answer as it is.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { triedOnce } from "../support/testSettings.ts"
import { useUpstream } from "../faults/gateway.ts"
import { nativeGateway } from "./nativeGateway.ts"
import { eventsIn, nativeBody, nativeEvents, sse, streamed, text } from "./nativeMessages.ts"

type Members = Readonly<Record<string, unknown>>

const upstream = useUpstream()
const modes = [false, true]

const gatewayOf = nativeGateway(upstream, {
  native: { dialect: "anthropic" },
  path: "/v1/messages",
  request: { max_tokens: 100, messages: [{ role: "user", content: "Hi" }] }
})

const search = { type: "web_search_20250305", name: "web_search", max_uses: 3 }

it.live("sends the request as it came, with the provider's model, the limit and the stream flag", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const body = {
        system: [
          { type: "text", text: "x-anthropic-billing-header: cc" },
          { type: "text", text: "Be brief." }
        ],
        messages: [
          { role: "user", content: "Hi" },
          {
            role: "assistant",
            content: [{ type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "q" } }]
          },
          { role: "user", content: [{ type: "unheard_of", members: [1, { deep: true }] }] }
        ],
        tools: [search, { name: "own", input_schema: { type: "object" }, defer_loading: true }],
        tool_choice: { type: "unknown_choice" },
        mcp_servers: [{ type: "url", url: "https://mcp.example", name: "m" }],
        context_management: { edits: [{ type: "clear_thinking_20251015" }] },
        a_new_member: { since: "tomorrow" }
      }
      for (const stream of modes) {
        const gateway = yield* gatewayOf({
          does: stream
            ? streamed(nativeEvents([text("Hel", "lo")]))
            : { json: nativeBody([{ type: "text", text: "Hello" }]) }
        })
        const { headers, status } = yield* gateway.send(
          { ...body, stream, betas: ["from-body-1"], provider: { sort: "price" } },
          {
            headers: {
              "anthropic-beta": "a-2026,b-2026",
              "anthropic-new-thing": "yes",
              "anthropic-version": "2099-01-01"
            }
          }
        )
        assert.deepStrictEqual([status, headers.get("x-tollgate-dropped")], [200, null])
        const [call] = yield* gateway.calls("alpha")
        assert.deepStrictEqual(call?.body, { ...body, stream, max_tokens: 100, model: call?.model })
        assert.strictEqual(call?.path, "/v1/messages")
        assert.deepInclude(call?.headers, {
          "anthropic-beta": "a-2026,b-2026,from-body-1",
          "anthropic-new-thing": "yes",
          "anthropic-version": "2023-06-01"
        })
      }
    })
  )
)

it.live("gives the answer as it came, with the gateway's id, the asked model and the billed usage", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const content = [
        { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "q" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "srv_1",
          content: [{ type: "web_search_result", url: "https://a.example", encrypted_content: "AbC+/=" }]
        },
        { type: "text", text: "Found", citations: [{ type: "web_search_result_location", encrypted_index: "Zz9=" }] },
        { type: "unheard_of", since: "tomorrow" }
      ]
      const more = {
        stop_reason: "stop_sequence",
        stop_sequence: "END",
        stop_details: { type: "detail" },
        container: { id: "c_1", expires_at: "2027-01-01" }
      }
      const usage = {
        input_tokens: 11,
        cache_read_input_tokens: 2,
        cache_creation_input_tokens: 3,
        output_tokens: 7,
        server_tool_use: { web_search_requests: 2 }
      }
      const gateway = yield* gatewayOf({
        does: { json: nativeBody(content, { ...more, usage, context_management: { applied_edits: [] } }) }
      })
      const whole = yield* gateway.send({ tools: [search] })
      const answer = JSON.parse(whole.text)
      assert.match(answer.id, /^msg_(?!vendor)/)
      assert.deepInclude(answer, { ...more, content, model: "test/small", context_management: { applied_edits: [] } })
      assert.deepInclude(answer.usage, usage)
      assert.isAbove(answer.usage.cost, 0)
      const receipt = JSON.parse(
        (yield* gateway.app.send(`/v1/generations/${whole.headers.get("x-generation-id")}`, { key: gateway.key })).text
      )
      assert.deepStrictEqual([receipt.usage.prompt_tokens, receipt.usage.completion_tokens], [16, 7])

      const events = [
        ...nativeEvents(
          [
            {
              block: { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} },
              deltas: [{ type: "input_json_delta", partial_json: '{"query":"q"}' }]
            },
            { block: content[1] ?? {} },
            {
              block: { type: "text", text: "", citations: [] },
              deltas: [
                { type: "citations_delta", citation: { cited_text: "c", encrypted_index: "Zz9=" } },
                { type: "text_delta", text: "Found" },
                { type: "new_delta", piece: "p" }
              ]
            },
            { block: { type: "unheard_of", since: "tomorrow" } }
          ],
          {
            stop_reason: "stop_sequence",
            stop_sequence: "END",
            stop_details: { type: "detail" },
            container: more.container
          }
        )
      ]
      events.splice(3, 0, { type: "unknown_event", anything: [1] })
      yield* gateway.rescript("alpha", streamed(events))
      const got = eventsIn((yield* gateway.send({ tools: [search], stream: true })).text)
      const [start, ...rest] = got
      const last = rest.at(-2)
      const wanted = events.filter(({ type }) => type !== "ping")
      assert.deepInclude(start?.["message"], { model: "test/small", role: "assistant", stop_reason: null })
      assert.match(JSON.stringify(start?.["message"]), /"id":"msg_(?!vendor)/)
      assert.deepStrictEqual(rest.slice(0, -2), wanted.slice(1, -2))
      assert.deepInclude(last, { type: "message_delta", delta: wanted.at(-2)?.["delta"] })
      assert.deepInclude(last?.["usage"], { input_tokens: 11, cache_read_input_tokens: 2, output_tokens: 7 })
      assert.deepStrictEqual(rest.at(-1), { type: "message_stop" })
    })
  )
)

it.live("a signature comes back to its vendor byte for byte, and goes to no other", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const signature = "EqQBCkYIBxgCKkD+/vendor=="
      const thinking = { type: "thinking", thinking: "Hm, [EMAIL_1].", signature }
      const redacted = { type: "redacted_thinking", data: "Em9j+/==" }
      for (const stream of modes) {
        const gateway = yield* gatewayOf(
          {
            does: stream
              ? streamed(
                  nativeEvents([
                    {
                      block: { type: "thinking", thinking: "", signature: "" },
                      deltas: [
                        { type: "thinking_delta", thinking: "Hm, [EMAIL_1]." },
                        { type: "signature_delta", signature }
                      ]
                    },
                    { block: redacted },
                    text("Yes.")
                  ])
                )
              : { json: nativeBody([thinking, redacted, { type: "text", text: "Yes." }]) }
          },
          {
            beta: {
              dialect: "anthropic",
              models: ["other/small"],
              does: { json: nativeBody([{ type: "text", text: "Beta." }]) }
            }
          },
          { privacy: { ...noPrivacy, mode: "mask" } }
        )
        const first = yield* gateway.send({
          stream,
          messages: [{ role: "user", content: "Write to ann.smith@example.com" }]
        })
        const blocks: Array<Record<string, string>> = []
        if (stream) {
          for (const event of eventsIn(first.text)) {
            const {
              content_block: block,
              delta,
              index
            } = event as unknown as {
              content_block?: Record<string, string>
              delta?: Record<string, string>
              index: number
            }
            if (block !== undefined) blocks[index] = { ...block }
            else if (delta !== undefined && index !== undefined) {
              for (const [name, piece] of Object.entries(delta))
                if (name !== "type") blocks[index] = { ...blocks[index], [name]: (blocks[index]?.[name] ?? "") + piece }
            }
          }
        } else blocks.push(...JSON.parse(first.text).content)
        assert.strictEqual(blocks[0]?.["thinking"], "Hm, [EMAIL_1].")
        const turns = [
          { role: "user", content: "Write to ann.smith@example.com" },
          { role: "assistant", content: blocks },
          { role: "user", content: "And now?" }
        ]
        yield* gateway.send({ messages: turns })
        const sent = (yield* gateway.calls("alpha")).at(-1)?.body as {
          messages: ReadonlyArray<{ content: ReadonlyArray<Members> }>
        }
        assert.deepStrictEqual(sent.messages[1]?.content.slice(0, 2), [thinking, redacted])
        yield* gateway.send({ model: "other/small", messages: turns })
        const other = (yield* gateway.calls("beta")).at(-1)?.body as typeof sent
        assert.deepStrictEqual(
          other.messages[1]?.content.map(({ type }) => type),
          ["text"]
        )
        // A signature that is no carrier is the vendor's own.
        yield* gateway.send({
          messages: [
            { role: "user", content: "Hi" },
            { role: "assistant", content: [thinking, { type: "text", text: "Yes." }] },
            { role: "user", content: "Go" }
          ]
        })
        const foreign = (yield* gateway.calls("alpha")).at(-1)?.body as typeof sent
        assert.deepStrictEqual(foreign.messages[1]?.content[0], thinking)
      }
    })
  )
)

it.live("masks both forms of a request alike, and restores every text but thoughts", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const email = "ann.smith@example.com"
      const phone = "+41 44 668 18 00"
      const settings = { privacy: { ...noPrivacy, mode: "mask" } }
      const gateway = yield* gatewayOf(
        {
          does: {
            json: nativeBody([
              { type: "text", text: "To [EMAIL_1]" },
              {
                type: "tool_use",
                id: "toolu_1",
                name: "write",
                input: { to: "[EMAIL_1]", deep: [{ by: "[PHONE_1]" }] }
              },
              { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "[EMAIL_1]" } },
              { type: "unheard_of", note: "[EMAIL_1]" },
              { type: "thinking", thinking: "About [EMAIL_1]", signature: "s" }
            ])
          }
        },
        {},
        settings
      )
      const body = {
        system: `You work for ${email}`,
        tools: [search, { name: "write", input_schema: { type: "object" } }],
        messages: [
          { role: "user", content: `Write to ${email}` },
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "toolu_0", name: "write", input: { to: email, by: phone } },
              { type: "server_tool_use", id: "srv_0", name: "web_search", input: { query: email } }
            ]
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_0", content: `Sent to ${email}` }] }
        ],
        a_new_member: { note: `ask ${email}` }
      }
      const whole = yield* gateway.send(body)
      const restored = [
        { type: "text", text: `To ${email}` },
        { type: "tool_use", id: "toolu_1", name: "write", input: { to: email, deep: [{ by: phone }] } },
        { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: email } },
        { type: "unheard_of", note: email }
      ]
      assert.deepStrictEqual(JSON.parse(whole.text).content.slice(0, 4), restored)
      assert.strictEqual(JSON.parse(whole.text).content[4].thinking, "About [EMAIL_1]")
      const [call] = yield* gateway.calls("alpha")
      assert.notInclude(call?.rawBody, email)
      assert.notInclude(call?.rawBody, phone)
      assert.strictEqual(call?.rawBody.match(/\[EMAIL_1\]/g)?.length, 6)
      assert.strictEqual(call?.rawBody.match(/\[PHONE_1\]/g)?.length, 1)

      const letters = (type: string, name: string, all: string) =>
        all.split("").map((piece) => ({ type, [name]: piece }))
      const argument = JSON.stringify({ to: "[EMAIL_1]" })
      yield* gateway.rescript(
        "alpha",
        streamed(
          nativeEvents([
            { block: { type: "text", text: "" }, deltas: letters("text_delta", "text", "To [EMAIL_1]") },
            {
              block: { type: "tool_use", id: "toolu_1", name: "write", input: {} },
              deltas: letters("input_json_delta", "partial_json", argument)
            },
            {
              block: { type: "unheard_of", note: "[EMAIL_1]" },
              deltas: letters("new_delta", "piece", "x [EMAIL_1] [EM")
            },
            { block: { type: "thinking", thinking: "" }, deltas: letters("thinking_delta", "thinking", "[EMAIL_1]") }
          ])
        )
      )
      const got = eventsIn((yield* gateway.send({ ...body, stream: true })).text)
      const joined = (index: number, name: string) =>
        got
          .flatMap((event) =>
            event["index"] === index ? ((event["delta"] as Record<string, string>)?.[name] ?? "") : []
          )
          .join("")
      assert.deepStrictEqual(
        [joined(0, "text"), joined(1, "partial_json"), joined(2, "piece"), joined(3, "thinking")],
        [`To ${email}`, JSON.stringify({ to: email }), `x ${email} [EM`, "[EMAIL_1]"]
      )
      assert.deepInclude(
        got.find(({ index, type }) => index === 2 && type === "content_block_start"),
        {
          content_block: { type: "unheard_of", note: email }
        }
      )
      assert.strictEqual(got.at(-1)?.type, "message_stop")
    })
  )
)

it.live("a request that chat cannot express goes to providers of its API alone, or is refused by name", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const answer = { json: nativeBody([{ type: "text", text: "Hello" }]) }
      const both = yield* gatewayOf(
        { does: { status: 503 }, price: 9 },
        { beta: { does: answer }, gamma: { dialect: "anthropic", does: answer, price: 5 } }
      )
      const { status } = yield* both.send({ tools: [search] })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual([(yield* both.calls("beta")).length, (yield* both.calls("gamma")).length], [0, 1])
      const alone = yield* gatewayOf({ dialect: "openai", does: answer })
      for (const stream of modes) {
        const refused = yield* alone.send({ tools: [search], stream })
        assert.strictEqual(refused.status, 400)
        const { error } = JSON.parse(refused.text)
        assert.strictEqual(error.type, "invalid_request_error")
        assert.match(error.message, /^tools\.0: web_search_20250305 /)
      }
      assert.lengthOf(yield* alone.calls("alpha"), 0)
    })
  )
)

it.live("objects of the account are refused unless the provider's entry allows them", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const does = { json: nativeBody([{ type: "text", text: "Hello" }]) }
      const file = { type: "document", source: { type: "file", file_id: "file_1" } }
      const bodies = [
        { container: "c_1" },
        { container: { id: "c_1" } },
        { container: { skills: [{ type: "custom", skill_id: "s" }] } },
        { messages: [{ role: "user", content: [file] }] },
        { messages: [{ role: "user", content: [{ type: "container_upload", file_id: "file_1" }] }] },
        { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [file] }] }] }
      ]
      const closed = yield* gatewayOf({ does })
      const open = yield* gatewayOf({ does, accountObjects: true })
      for (const body of bodies) {
        const refused = yield* closed.send(body)
        assert.strictEqual(refused.status, 400)
        assert.match(JSON.parse(refused.text).error.message, /account_objects: allow/)
        assert.strictEqual((yield* open.send(body)).status, 200)
      }
      assert.lengthOf(yield* closed.calls("alpha"), 0)
      assert.strictEqual(
        (yield* closed.send({ container: { skills: [{ type: "anthropic", skill_id: "pdf" }] } })).status,
        200
      )
    })
  )
)

it.live("a repeated Idempotency-Key gets the native answer again, and another body is refused", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const content = [
        { type: "unheard_of", since: "tomorrow" },
        { type: "text", text: "Hello" }
      ]
      const gateway = yield* gatewayOf({ does: { json: nativeBody(content) } })
      for (const [at, stream] of modes.entries()) {
        if (stream)
          yield* gateway.rescript(
            "alpha",
            streamed(nativeEvents([{ block: content[0] ?? {} }, text("Hel", "lo")], { container: { id: "c" } }))
          )
        const headers = { "idempotency-key": `once-${stream}` }
        const first = yield* gateway.send({ stream }, { headers })
        const again = yield* gateway.send({ stream }, { headers })
        assert.strictEqual(again.text, first.text)
        assert.include(again.text, "unheard_of")
        assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
        assert.lengthOf(yield* gateway.calls("alpha"), at + 1)
        const other = yield* gateway.send({ stream, context_management: { edits: [] } }, { headers })
        assert.strictEqual(other.status, 400)
      }
    })
  )
)

it.live("the vendor's refusal of a request goes out in its own words, without keys; others are translated", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const refusal = (type: string, message: string) => ({
        type: "error",
        error: { type, message },
        request_id: "req_vendor"
      })
      const long = `prompt is too long: 210000 tokens > 200000 maximum ${"x".repeat(600)}\nsecond line`
      const gateway = yield* gatewayOf({ does: { status: 400, json: refusal("invalid_request_error", long) } })
      for (const stream of modes) {
        const told = yield* gateway.send({ stream })
        assert.strictEqual(told.status, 400)
        const body = JSON.parse(told.text)
        assert.deepInclude(body.error, { type: "invalid_request_error", message: long })
        assert.notStrictEqual(body.request_id, "req_vendor")
      }
      yield* gateway.rescript("alpha", {
        status: 413,
        json: refusal("request_too_large", "Request exceeds the maximum size: sk-alpha, sk-ant-api03-0123456789abcdef")
      })
      const large = yield* gateway.send({})
      assert.deepStrictEqual(
        [large.status, JSON.parse(large.text).error.type, JSON.parse(large.text).error.message],
        [413, "request_too_large", "Request exceeds the maximum size: [key], [key]"]
      )
      yield* gateway.rescript(
        "alpha",
        streamed([
          {
            type: "error",
            error: { type: "invalid_request_error", message: "messages.1: `thinking` has an invalid signature" }
          }
        ])
      )
      const early = yield* gateway.send({ stream: true })
      assert.deepStrictEqual(
        [early.status, JSON.parse(early.text).error.message],
        [400, "messages.1: `thinking` has an invalid signature"]
      )
      for (const [status, type] of [
        [401, "authentication_error"],
        [403, "permission_error"],
        [404, "not_found_error"],
        [429, "rate_limit_error"],
        [529, "overloaded_error"]
      ] as const) {
        yield* gateway.rescript("alpha", { status, json: refusal(type, "secret words") })
        assert.notInclude((yield* gateway.send({})).text, "secret words")
      }
    })
  )
)

it.live("every cut of a native stream ends in an error event, or is complete", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const bytes = sse(
        nativeEvents([
          {
            block: { type: "server_tool_use", id: "s", name: "n", input: {} }
          },
          text("Hel", "lo")
        ])
      )
      const models = Array.from(bytes, (_, at) => `test/cut-${at}`)
      const gateway = yield* gatewayOf({ does: { status: 500 }, models }, {}, { routing: triedOnce })
      // From the block that chat does not know to the text after it.
      const [from, to] = [bytes.indexOf("event: content_block_start"), bytes.indexOf("event: content_block_delta") + 80]
      for (let cut = from; cut <= to; cut++) {
        yield* gateway.rescript("alpha", { chunks: [bytes.slice(0, cut)], ending: "close" })
        const { status, text: got } = yield* gateway.send({ stream: true, model: `test/cut-${cut - 1}` })
        if (status !== 200) {
          assert.deepInclude(JSON.parse(got), { type: "error" }, `cut at ${cut}`)
          continue
        }
        const types = eventsIn(got).map(({ type }) => type)
        const ends = types.filter((type) => type === "error" || type === "message_stop")
        assert.lengthOf(ends, 1, `cut at ${cut}: ${types.join()}`)
        assert.strictEqual(types.at(-1), ends[0])
      }
    })
  )
)

it.live("a key with a budget is refused what the vendor may do at a price of its own, and no more", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const gateway = yield* gatewayOf({ does: { json: nativeBody([{ type: "text", text: "Hello" }]) } })
      const { secret: key } = yield* gateway.app.issueKey({ monthlyBudgetNano: 1_000_000_000 })
      const dear = [
        [{ tools: [search] }, "tools[0].type"],
        [{ mcp_servers: [{ url: "https://mcp.example" }] }, "mcp_servers"],
        [{ fallbacks: [{ model: "claude-other" }] }, "fallbacks"],
        [{ speed: "fast" }, "speed"],
        [{ inference_geo: "us" }, "inference_geo"],
        [{ context_management: { edits: [{ type: "compact_20260112" }] } }, "context_management"]
      ] as const
      for (const [body, param] of dear) {
        const refused = yield* gateway.send(body, { key })
        assert.deepStrictEqual([refused.status, JSON.parse(refused.text).error.details.param], [400, param])
      }
      assert.lengthOf(yield* gateway.calls("alpha"), 0)
      const plain = { tools: [{ type: "bash_20250124", name: "bash" }], speed: "standard", inference_geo: "global" }
      assert.strictEqual(
        (yield* gateway.send(
          { ...plain, context_management: { edits: [{ type: "clear_thinking_20251015" }] } },
          { key }
        )).status,
        200
      )
    })
  )
)

it.live("a budget lowers the output limit, and a thinking budget with it", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const pricing = { prompt: 0, completion: 1_000_000, cachedPrompt: null }
      const gateway = yield* gatewayOf({ does: { json: nativeBody([{ type: "text", text: "Hello" }]) }, pricing })
      const asked = { max_tokens: 4_000, thinking: { type: "enabled", budget_tokens: 3_000 } }
      for (const [tokens, thinking] of [
        [2_000, { type: "enabled", budget_tokens: 1_900 }],
        [500, { type: "disabled" }]
      ] as const) {
        const { secret: key } = yield* gateway.app.issueKey({ monthlyBudgetNano: tokens * 1_000 })
        yield* gateway.send(asked, { key })
        assert.deepInclude((yield* gateway.calls("alpha")).at(-1)?.body, { max_tokens: tokens, thinking })
      }
    })
  )
)

it.live("models in fallbacks are held to the whitelist, and named as the provider names them", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const gateway = yield* gatewayOf({
        does: { json: nativeBody([{ type: "text", text: "Hello" }]) },
        models: ["test/small", "test/large"]
      })
      const { secret: key } = yield* gateway.app.issueKey({ allowedModels: ["test/small"] })
      for (const model of ["test/large", "large", "claude-other"]) {
        const refused = yield* gateway.send({ fallbacks: [{ model: "test/small" }, { model }] }, { key })
        assert.deepStrictEqual([refused.status, JSON.parse(refused.text).error.type], [403, "permission_error"])
      }
      assert.lengthOf(yield* gateway.calls("alpha"), 0)
      assert.strictEqual(
        (yield* gateway.send({ fallbacks: [{ model: "small", max_tokens: 5 }, "claude-other"] })).status,
        200
      )
      const [call] = yield* gateway.calls("alpha")
      assert.deepInclude(call?.body, { fallbacks: [{ model: call?.model, max_tokens: 5 }, "claude-other"] })
    })
  )
)

it.live("a provider of the API counts the tokens, of what may leave; else the gateway does", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const settings = { privacy: { ...noPrivacy, mode: "mask" } }
      const gateway = yield* gatewayOf({ does: { json: { input_tokens: 4321 } } }, {}, settings)
      const count = (body: Members, key = gateway.key) =>
        gateway.app.send("/v1/messages/count_tokens", {
          body: {
            model: "test/small",
            messages: [{ role: "user", content: "Write to ann.smith@example.com" }],
            ...body
          },
          key,
          headers: { "anthropic-beta": "count-1" }
        })
      assert.strictEqual((yield* count({ tools: [search] })).text, `{"input_tokens":4321}`)
      const [call] = yield* gateway.calls("alpha")
      assert.deepStrictEqual([call?.path, call?.headers["anthropic-beta"]], ["/v1/messages/count_tokens", "count-1"])
      assert.deepStrictEqual(call?.body, {
        model: call?.model,
        messages: [{ role: "user", content: "Write to [EMAIL_1]" }],
        tools: [search]
      })
      assert.strictEqual((yield* count({ model: "no/such" })).status, 404)
      const { secret: other } = yield* gateway.app.issueKey({ allowedModels: ["other/*"] })
      assert.strictEqual((yield* count({}, other)).status, 403)
      assert.strictEqual((yield* count({ container: "c_1" })).status, 400)
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
      for (const does of [
        { status: 404, json: {} },
        { status: 400, json: {} },
        { json: { input_tokens: -1 } },
        { ending: "reset_at_once" }
      ] as const) {
        yield* gateway.rescript("alpha", does)
        const { status, text: told } = yield* count({})
        assert.deepStrictEqual([status, JSON.parse(told).input_tokens < 100], [200, true])
      }
    })
  )
)

it.live("an overflow is told in Anthropic's words: the prompt's, or that of the prompt and the limit", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const told = (prompt: number, output: number) =>
        `This model's maximum context length is 8192 tokens. However, you requested ${prompt + output} tokens (${prompt} in the messages, ${output} in the completion). Please reduce the length.`
      const gateway = yield* gatewayOf({ dialect: "openai", does: { status: 500 } })
      for (const [prompt, output, words] of [
        [
          8_000,
          1_000,
          "input length and `max_tokens` exceed context limit: 8000 + 1000 > 8192, decrease input length or `max_tokens` and try again"
        ],
        [9_000, 1_000, `prompt is too long: ${told(9_000, 1_000)}`]
      ] as const) {
        const error = { message: told(prompt, output), type: "invalid_request_error", code: "context_length_exceeded" }
        yield* gateway.rescript("alpha", { status: 400, json: { error } })
        const refused = yield* gateway.send({})
        assert.deepStrictEqual([refused.status, JSON.parse(refused.text).error.message], [400, words])
      }
    })
  )
)
