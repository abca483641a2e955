/**
 * The privacy preview over HTTP: what it finds and where, what it refuses, and that it never
 * returns a value.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type KeyPrivacy, type PrivacyRules } from "../../../src/domain/Privacy.ts"
import { noPrivacy } from "../../../src/settings/sections/PrivacySection.ts"
import { type NewKey } from "../../../src/gateway/keys/ApiKeys.ts"
import { TestApp } from "../../support/TestApp.ts"

const app = (privacy: Partial<PrivacyRules> = {}) =>
  TestApp.layer({ providers: [], settings: { privacy: { ...noPrivacy, ...privacy } } })

const previewed = (body: unknown, key: Partial<NewKey> = {}) =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey(key)
    const answered = yield* send("/v1/privacy/preview", { body, key: secret })
    return { ...answered, body: JSON.parse(answered.text) }
  })

it.effect("masks a text, and reports the type and original place of each value", () =>
  Effect.gen(function* () {
    const text = "🙂 ann@x.com or +41 44 668 18 00, ann@x.com"
    const { body, headers, status } = yield* previewed({ text })
    assert.strictEqual(status, 200)
    assert.match(body.policy_version, /^1-[0-9a-f]{12}$/)
    const found = (type: string, placeholder: string, start: number, end: number) => ({
      type,
      placeholder,
      start,
      end,
      message_index: null,
      path: "text"
    })
    assert.deepStrictEqual(body, {
      masked_text: "🙂 [EMAIL_1] or [PHONE_1], [EMAIL_1]",
      entities: [
        found("email", "[EMAIL_1]", 3, 12),
        found("phone", "[PHONE_1]", 16, 32),
        found("email", "[EMAIL_1]", 34, 43)
      ],
      counts: { email: 2, phone: 1 },
      would_block: false,
      policy_version: body.policy_version
    })
    assert.strictEqual(text.slice(16, 32), "+41 44 668 18 00")
    assert.strictEqual(headers.get("x-ratelimit-remaining-requests"), "2999")
    assert.strictEqual(headers.get("x-ratelimit-remaining-tokens"), "4000000")
  }).pipe(Effect.provide(app()))
)

it.effect("masks every text of messages, and the place of a value names message and member", () =>
  Effect.gen(function* () {
    const { body, status, text } = yield* previewed({
      messages: [
        { role: "system", content: "Nothing here" },
        { role: "user", content: [{ type: "text", text: "card 4111 1111 1111 1111" }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"ip":"10.0.0.1"}' } }]
        }
      ]
    })
    assert.strictEqual(status, 200)
    assert.notProperty(body, "masked_text")
    assert.deepStrictEqual(body.messages, [
      { role: "system", content: "Nothing here" },
      { role: "user", content: [{ type: "text", text: "card [CREDIT_CARD_1]" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"ip":"[IP_ADDRESS_1]"}' } }]
      }
    ])
    assert.deepStrictEqual(
      body.entities.map(({ end, message_index, path, start }: Readonly<Record<string, unknown>>) => [
        message_index,
        path,
        start,
        end
      ]),
      [
        [1, "content[0].text", 5, 24],
        [2, "tool_calls[0].function.arguments", 7, 15]
      ]
    )
    assert.notInclude(text, "4111")
    assert.notInclude(text, "10.0.0.1")
  }).pipe(Effect.provide(app()))
)

it.effect("entities narrow the search and may name the operator's patterns", () =>
  Effect.gen(function* () {
    const text = "ann@x.com EMP-123456 10.0.0.1"
    const only = (entities: ReadonlyArray<string> | null) =>
      Effect.map(previewed({ text, entities }), ({ body }) => body.masked_text)
    assert.strictEqual(yield* only(["employee"]), "ann@x.com [EMPLOYEE_1] 10.0.0.1")
    assert.strictEqual(yield* only(["ip_address"]), "ann@x.com EMP-123456 [IP_ADDRESS_1]")
    assert.strictEqual(yield* only([]), text)
    // The deployment looks for e-mail addresses and its own pattern only.
    assert.strictEqual(yield* only(null), "[EMAIL_1] [EMPLOYEE_1] 10.0.0.1")
  }).pipe(
    Effect.provide(app({ entities: ["email"], patterns: [{ name: "employee", pattern: String.raw`EMP-\d{6}` }] }))
  )
)

it.effect("the policy version changes with the patterns, not with the mode", () =>
  Effect.gen(function* () {
    const versionOf = (rules: Partial<PrivacyRules>) =>
      previewed({ text: "" }).pipe(
        Effect.map(({ body }) => String(body.policy_version)),
        Effect.provide(app(rules))
      )
    const first = yield* versionOf({})
    assert.strictEqual(yield* versionOf({ mode: "block" }), first)
    assert.notStrictEqual(yield* versionOf({ entities: ["email"] }), first)
    assert.notStrictEqual(yield* versionOf({ patterns: [{ name: "a", pattern: "b" }] }), first)
  })
)

it.effect("would_block follows the stricter of deployment and key, or the requested mode", () =>
  Effect.gen(function* () {
    const cases: ReadonlyArray<
      readonly [deployment: PrivacyRules["mode"], key: KeyPrivacy | null, asked: KeyPrivacy | null, blocks: boolean]
    > = [
      ["off", null, null, false],
      ["off", "block", null, true],
      ["mask", "block", null, true],
      ["block", "mask", null, true],
      ["block", null, "mask", false],
      ["off", null, "block", true]
    ]
    for (const [mode, privacy, asked, blocks] of cases) {
      const ask = (text: string) => previewed({ text, mode: asked }, { privacy }).pipe(Effect.provide(app({ mode })))
      const { body, status } = yield* ask("ann@x.com")
      assert.strictEqual(status, 200)
      assert.strictEqual(body.would_block, blocks, `${mode} ${privacy} ${asked}`)
      assert.strictEqual(body.masked_text, "[EMAIL_1]")
      assert.isFalse((yield* ask("nobody")).body.would_block)
    }
  })
)

it.effect("an invalid request is refused with every fault", () =>
  Effect.gen(function* () {
    const faults = (sent: unknown) =>
      Effect.map(previewed(sent), ({ body, status }) => [
        status,
        ...body.detail.map(({ loc, type }: Readonly<Record<string, unknown>>) => [loc, type])
      ])
    assert.deepStrictEqual(yield* faults({}), [422, [["body", "text"], "missing"]])
    assert.deepStrictEqual(yield* faults({ text: null }), [422, [["body", "text"], "missing"]])
    assert.deepStrictEqual(yield* faults({ text: "a", mode: "off" }), [422, [["body", "mode"], "literal_error"]])
    assert.deepStrictEqual(yield* faults({ messages: [] }), [422, [["body", "messages"], "too_short"]])
    assert.deepStrictEqual(yield* faults({ text: "a", entities: ["email", "name", "x"] }), [
      422,
      [["body", "entities", 1], "literal_error"],
      [["body", "entities", 2], "literal_error"]
    ])
    assert.deepStrictEqual(yield* faults({ text: 5, entities: ["nope", 7, "email"], mode: "zap", more: 1 }), [
      422,
      [["body", "more"], "extra_forbidden"],
      [["body", "text"], "string_type"],
      [["body", "entities", 1], "string_type"],
      [["body", "mode"], "literal_error"],
      [["body", "entities", 0], "literal_error"]
    ])
    const many = yield* previewed({ text: "a", entities: Array.from({ length: 1_000 }, (_, at) => `x${at}`) })
    assert.strictEqual(many.body.detail.length, 100)
  }).pipe(Effect.provide(app()))
)

it.effect("needs a key with the scope, and counts under the rate limit", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const path = "/v1/privacy/preview"
    const status = (key: string | null) => Effect.map(send(path, { body: { text: "a" }, key }), (sent) => sent.status)
    assert.strictEqual(yield* status(null), 401)
    const other = yield* issueKey({ scopes: ["chat:write"] })
    assert.strictEqual(yield* status(other.secret), 403)
    const free = yield* issueKey({ tier: "free", scopes: ["privacy:preview"] })
    for (let sent = 0; sent < 20; sent++) assert.strictEqual(yield* status(free.secret), 200)
    const refused = yield* send(path, { body: { text: "a" }, key: free.secret })
    assert.strictEqual(refused.status, 429)
    assert.strictEqual(refused.headers.get("retry-after"), "3")
  }).pipe(Effect.provide(app()))
)
