/**
 * Each refused request is recorded with what was sent, and never with a text of the client. The
 * client's texts of these tests contain a marker.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { CredentialsRefused } from "../../src/providers/Provider.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { type Refusal } from "../../src/domain/Refusal.ts"
import { RefusalStore } from "../../src/store/refusals/RefusalStore.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

const MARKER = "nobodys-business"

const app = TestApp.layer({
  providers: [
    {
      slug: "alpha",
      config: { models: [{ ...scriptedOffer("test/small"), contextLength: 100 }, scriptedOffer("test/broken")] },
      models: {
        "test/small": { reply: helloReply },
        "test/broken": { failure: new CredentialsRefused({ status: 401 }) }
      }
    }
  ]
})

/** The refusals so far, oldest first. */
const recorded = Effect.gen(function* () {
  yield* TestClock.adjust("1 second")
  const store = yield* RefusalStore
  const rows = (yield* store.list({ limit: 100, cursor: null })).toReversed()
  assert.notInclude(JSON.stringify(rows), MARKER)
  return rows
})

const told = ({ code, endpoint, message, model, status, type }: Refusal) =>
  [endpoint, status, type, code, model, message] as const

const chat = "POST /v1/chat/completions"
const invalid = [chat, 422, "invalid_request_error", "validation_failed", null] as const

it.effect("records each refusal of the gateway with status, type, code and words, and without the client's", () =>
  Effect.gen(function* () {
    const { chat: complete, issueKey, send } = yield* TestApp
    const { secret: key } = yield* issueKey()
    const { secret: narrow } = yield* issueKey({ allowedModels: ["other/*"], scopes: ["chat:write"] })
    const { secret: poor } = yield* issueKey({ monthlyBudgetNano: 1 })
    const { secret: slow } = yield* issueKey({ tier: "free" })

    yield* complete(ask(MARKER), { key: `tg-${MARKER}` })
    yield* send("/v1/embeddings", { key: narrow, body: { model: MARKER, input: MARKER } })
    yield* complete(ask(MARKER), { key: narrow })
    yield* complete(ask(MARKER), { key: poor })
    yield* complete(ask(MARKER, { model: MARKER }), { key })
    yield* complete(ask(MARKER, { provider: { only: [MARKER] } }), { key })
    yield* complete(ask(MARKER, { temperature: MARKER }), { key })
    yield* complete(ask(MARKER, { provider: { [MARKER]: MARKER } }), { key })
    yield* complete(`{"model":"test/small","messages":[${MARKER}`, {
      key,
      headers: { "content-type": "application/json" }
    })
    yield* complete(ask(`${MARKER} `.repeat(200)), { key })
    yield* send(`/v1/chat/${MARKER}`, { key, body: {} })
    yield* send(`/v1/generations/gen_${MARKER}`, { key })
    yield* send("/v1/messages", { key, body: { model: "test/small", messages: [], max_tokens: MARKER } })
    for (let at = 0; at < 21; at++) yield* complete(ask(MARKER), { key: slow })

    assert.deepStrictEqual((yield* recorded).map(told), [
      [
        chat,
        401,
        "authentication_error",
        "invalid_api_key",
        null,
        "No valid API key was sent. Send one as `Authorization: Bearer <key>` or `x-api-key: <key>`. Keys begin with `tg-`; " +
          "expired and revoked ones are refused alike. Admin keys go in `x-admin-key`."
      ],
      [
        "POST /v1/embeddings",
        403,
        "permission_denied",
        "scope_missing",
        null,
        "This key lacks the scope embeddings:write."
      ],
      [
        chat,
        403,
        "model_not_allowed",
        "model_not_allowed",
        "test/small",
        "This key may not use the model '…'. GET /v1/models lists those that it may use."
      ],
      [
        chat,
        402,
        "budget_exceeded",
        "monthly_budget_exceeded",
        "test/small",
        "The key's monthly budget of $0.000000001 has no room for this request: $0 spent, $0 reserved. It resets at 1970-02-01T00:00:00.000Z."
      ],
      [
        chat,
        404,
        "model_not_found",
        "model_not_found",
        null,
        "The model '…' does not exist. GET /v1/models lists the models that exist."
      ],
      [
        chat,
        404,
        "no_eligible_provider",
        "no_eligible_provider",
        "test/small",
        "No provider of '…' is left after the request's filters: alpha (not_in_only). No provider is called '…'."
      ],
      [...invalid, "body.temperature: Input should be a valid number"],
      [...invalid, "body.provider.…: Extra inputs are not permitted"],
      [...invalid, "body: JSON decode error"],
      [
        chat,
        400,
        "context_length_exceeded",
        "context_length_exceeded",
        "test/small",
        "This model's maximum context length is 100 tokens. However, your messages resulted in about 807 tokens. Please shorten the messages."
      ],
      [null, 404, "not_found", "route_not_found", null, "There is no route …. GET /openapi.json lists all routes."],
      [
        "GET /v1/generations/:generation_id",
        404,
        "not_found",
        "generation_not_found",
        null,
        "There is no such generation."
      ],
      [
        "POST /v1/messages",
        400,
        "invalid_request_error",
        "validation_failed",
        null,
        "body.messages: List should have at least 1 item after validation, not 0 (and 1 more fault)"
      ],
      [
        chat,
        429,
        "rate_limit_exceeded",
        "requests_limit_exceeded",
        "test/small",
        "The limit of 20 requests per minute is reached. Retry after the time in Retry-After."
      ]
    ])
  }).pipe(Effect.provide(app))
)

it.effect("records the key, its owner and the request's id, and nothing of requests that left a generation", () =>
  Effect.gen(function* () {
    const { chat: complete, issueKey, send } = yield* TestApp
    const { id, secret: key } = yield* issueKey({ ownerId: "usr_ann", monthlyBudgetNano: 1 })
    const { secret: rich } = yield* issueKey()
    yield* TestClock.adjust("1 minute")
    const refused = yield* complete(ask("Hi"), { key, headers: { "x-request-id": "my-own.id_1" } })
    assert.strictEqual(refused.status, 402)
    assert.strictEqual((yield* complete(ask("Hi"), { key: rich })).status, 200)
    assert.strictEqual((yield* complete(ask("Hi", { model: "test/broken" }), { key: rich })).status, 502)
    // The console shows admins and signed-in people their errors itself.
    assert.strictEqual((yield* send("/v1/admin/overview")).status, 401)
    assert.strictEqual((yield* send("/v1/portal/keys")).status, 401)
    const rows = yield* recorded
    assert.lengthOf(rows, 1)
    assert.deepInclude(rows[0], {
      requestId: "my-own.id_1",
      createdAtMs: 60_000,
      keyId: id,
      ownerId: "usr_ann",
      model: "test/small",
      count: 1
    })
    assert.match(rows[0]?.id ?? "", /^ref_00000000ea60/)
  }).pipe(Effect.provide(app))
)
