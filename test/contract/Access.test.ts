/**
 * Every endpoint of the document with every kind of credential: which are admitted, which get 401
 * and which 403. The table below is written by hand, and the test fails if an endpoint is missing
 * in it.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { Api } from "../../src/api/Api.ts"
import { RequiredScope } from "../../src/api/Authorization.ts"
import { allScopes, type Scope } from "../../src/domain/Key.ts"
import { ApiKeys } from "../../src/gateway/keys/ApiKeys.ts"
import { noSignIn } from "../../src/settings/sections/SignIn.ts"
import { Browser } from "../signin/Browser.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

/**
 * `key`: any API key. A scope: an API key with that scope. `session`: a signed-in user. `admin`:
 * the admin key, or the session of an admin.
 */
type Opener = "open" | "key" | Scope | "session" | "admin"

const table: Readonly<Record<string, Opener>> = {
  "POST /v1/chat/completions": "chat:write",
  "POST /v1/messages": "chat:write",
  "POST /v1/messages/count_tokens": "chat:write",
  "POST /v1/responses": "chat:write",
  "GET /v1/responses/{response_id}": "chat:write",
  "DELETE /v1/responses/{response_id}": "chat:write",
  "GET /v1/responses/{response_id}/input_items": "chat:write",
  "POST /v1/embeddings": "embeddings:write",
  "POST /v1/route/preview": "chat:write",
  "GET /v1/models": "models:read",
  "GET /v1/models/{model}": "models:read",
  "GET /v1/models/{author}/{slug}": "models:read",
  "GET /v1/generations/{generation_id}": "generations:read",
  "GET /v1/generations": "generations:read",
  "GET /v1/usage": "generations:read",
  "POST /v1/keys": "admin",
  "GET /v1/keys": "admin",
  "GET /v1/keys/{key_id}": "admin",
  "PATCH /v1/keys/{key_id}": "admin",
  "DELETE /v1/keys/{key_id}": "admin",
  "POST /v1/keys/{key_id}/rotate": "admin",
  "POST /v1/keys/bulk": "admin",
  "GET /v1/key": "key",
  "POST /v1/privacy/preview": "privacy:preview",
  "GET /v1/admin/overview": "admin",
  "GET /v1/admin/timeseries": "admin",
  "GET /v1/admin/generations/{generation_id}": "admin",
  "GET /v1/admin/generations": "admin",
  "GET /v1/admin/requests": "admin",
  "GET /v1/admin/audit": "admin",
  "GET /v1/admin/refused-credentials": "admin",
  "GET /v1/admin/usage": "admin",
  "GET /v1/portal/generations/{generation_id}": "session",
  "GET /v1/portal/generations": "session",
  "GET /v1/portal/requests": "session",
  "GET /v1/portal/models": "session",
  "GET /v1/admin/models": "admin",
  "GET /v1/admin/providers": "admin",
  "GET /v1/admin/providers/{slug}": "admin",
  "GET /v1/admin/presets": "admin",
  "POST /v1/admin/providers/test": "admin",
  "POST /v1/admin/providers": "admin",
  "PUT /v1/admin/providers/{slug}/key": "admin",
  "DELETE /v1/admin/providers/{slug}": "admin",
  "GET /v1/admin/settings": "admin",
  "POST /v1/admin/settings/reload": "admin",
  "GET /v1/admin/webhooks": "admin",
  "GET /v1/admin/webhooks/deliveries": "admin",
  "GET /v1/admin/webhooks/dead-letters": "admin",
  "POST /v1/admin/webhooks/dead-letters/{dead_letter_id}/retry": "admin",
  "POST /v1/admin/webhooks/dead-letters/retry": "admin",
  "POST /auth/register/{channel}/start": "open",
  "POST /auth/register/{channel}/verify": "open",
  "POST /auth/refresh": "open",
  "POST /auth/logout": "open",
  "GET /auth/oauth/{provider}/start": "open",
  "GET /auth/oauth/{provider}/callback": "open",
  "GET /auth/dev/mailbox": "open",
  "POST /auth/dev/console": "open",
  "GET /.well-known/jwks.json": "open",
  "GET /auth/methods": "open",
  "GET /auth/me": "session",
  "GET /auth/sessions": "session",
  "DELETE /auth/sessions/{session_id}": "session",
  "GET /v1/portal/keys": "session",
  "POST /v1/portal/keys": "session",
  "GET /v1/portal/keys/{key_id}": "session",
  "PATCH /v1/portal/keys/{key_id}": "session",
  "DELETE /v1/portal/keys/{key_id}": "session",
  "POST /v1/portal/keys/{key_id}/rotate": "session",
  "GET /v1/portal/grants": "session",
  "GET /v1/portal/usage": "session",
  "GET /v1/admin/users": "admin",
  "POST /v1/admin/users": "admin",
  "GET /v1/admin/users/{user_id}": "admin",
  "PATCH /v1/admin/users/{user_id}": "admin",
  "GET /metrics": "admin",
  "GET /health": "open",
  "GET /health/live": "open",
  "GET /health/ready": "open"
}

const nobody = "0".repeat(32)
const ids: Readonly<Record<string, string>> = {
  generation_id: `gen_${nobody}`,
  response_id: `resp_${"0".repeat(32)}`,
  key_id: `key_${nobody}`,
  dead_letter_id: `dlv_${nobody}`,
  user_id: `usr_${nobody}`,
  session_id: `ses_${nobody}`,
  model: "small",
  author: "test",
  slug: "small",
  channel: "email",
  provider: "google"
}

/** Valid bodies, so that only the credential can be refused. */
const bodies: Readonly<Record<string, unknown>> = {
  "POST /v1/chat/completions": ask("Hi"),
  "POST /v1/messages": { ...ask("Hi"), max_tokens: 5 },
  "POST /v1/messages/count_tokens": ask("Hi"),
  "POST /v1/responses": { model: "test/small", input: "Hi" },
  "POST /v1/route/preview": ask("Hi"),
  "POST /v1/embeddings": { model: "test/small", input: "Hi" },
  "POST /v1/keys": { name: "made by the matrix" },
  "PATCH /v1/keys/{key_id}": { name: "renamed" },
  "POST /v1/keys/{key_id}/rotate": {},
  "POST /v1/privacy/preview": { text: "Hi" },
  "POST /auth/register/{channel}/start": { email: "visitor@example.com" },
  "POST /auth/register/{channel}/verify": { challenge_id: `chl_${nobody}`, code: "000000" },
  "POST /auth/refresh": {},
  "POST /auth/logout": {},
  "POST /v1/portal/keys": { name: "made by the matrix" },
  "PATCH /v1/portal/keys/{key_id}": { name: "renamed" },
  "POST /v1/portal/keys/{key_id}/rotate": {},
  "POST /v1/admin/users": { email: "another@example.com", role: "admin" },
  "PATCH /v1/admin/users/{user_id}": { grants: { tier: "free" } }
}

const document = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
)

type Headers = Readonly<Record<string, string>>
interface Credential {
  readonly name: string
  readonly headers: Headers
  /** The endpoints that it opens. */
  readonly opens: ReadonlySet<Opener>
  /** The endpoints that know it and refuse it with 403 instead of 401. */
  readonly forbidden?: ReadonlySet<Opener>
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
const none: ReadonlySet<Opener> = new Set()
const scoped: ReadonlySet<Opener> = new Set<Opener>(["key", ...allScopes])

/** The access token with another payload, another algorithm or another signature. */
const forged = (token: string): ReadonlyArray<readonly [string, string]> => {
  const [header = "", payload = "", signature = ""] = token.split(".")
  const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const parsed = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>
  return [
    ["a token with alg none", `${json({ ...parsed(header), alg: "none" })}.${payload}.`],
    ["a token with alg HS256", `${json({ ...parsed(header), alg: "HS256" })}.${payload}.${signature}`],
    ["a token of another subject", `${header}.${json({ ...parsed(payload), sub: `usr_${nobody}` })}.${signature}`],
    ["a token without a signature", `${header}.${payload}`]
  ]
}

const app = TestApp.layer({
  providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
  settings: {
    auth: {
      ...noSignIn,
      accessTokenSeconds: 86_400,
      limits: { perDestinationHour: 1_000, perAddressMinute: 1_000, globalMinute: 1_000, newAccountsDay: 1_000 }
    }
  }
})

type Json = ReturnType<typeof JSON.parse>

const signIn = Effect.fnUntraced(function* (email: string) {
  const { url } = yield* TestApp
  const browser = new Browser(url)
  const json = (path: string, body?: unknown) =>
    Effect.promise(async () => (await browser.script(path, body === undefined ? {} : { body })).json() as Json)
  const { challenge_id } = yield* json("/auth/register/email/start", { email })
  const { data } = yield* json("/auth/dev/mailbox")
  const { code } = data.find(({ destination }: { readonly destination: string }) => destination === email)
  const { access_token, user } = yield* json("/auth/register/email/verify", { challenge_id, code })
  return { token: access_token as string, id: user.id as string }
})

const makeCredentials = Effect.gen(function* () {
  const { adminKey, issueKey, send } = yield* TestApp
  const accounts = yield* ApiKeys
  const admin = (method: string, path: string, body: unknown) =>
    Effect.map(send(path, { method, body, headers: { "x-admin-key": adminKey } }), ({ status }) =>
      assert.strictEqual(status, 200, path)
    )

  const whole = yield* issueKey()
  const [revoked, disabled, expired] = [yield* issueKey(), yield* issueKey(), yield* issueKey({ expiresAtMs: 1_000 })]
  yield* accounts.revoke(revoked.id)
  yield* accounts.change(disabled.id, { state: "disabled" })
  yield* TestClock.adjust("1 minute")
  const unknown = `${whole.secret.slice(0, -1)}${whole.secret.endsWith("A") ? "B" : "A"}`

  yield* admin("POST", "/v1/admin/users", { email: "admin@example.com", role: "admin" })
  const operator = yield* signIn("admin@example.com")
  const user = yield* signIn("user@example.com")
  const suspended = yield* signIn("suspended@example.com")
  yield* admin("PATCH", `/v1/admin/users/${suspended.id}`, { status: "suspended" })
  yield* TestClock.adjust("1 minute")

  const withScopes = (name: string, scopes: ReadonlyArray<Scope>) =>
    Effect.map(issueKey({ scopes }), ({ secret }): Credential => ({
      name,
      headers: bearer(secret),
      opens: new Set<Opener>(["key", ...scopes]),
      forbidden: new Set(allScopes)
    }))

  const refused = (name: string, headers: Headers): Credential => ({ name, headers, opens: none })
  const credentials: Array<Credential> = [
    refused("nothing", {}),
    refused("an empty bearer", { authorization: "Bearer " }),
    refused("a bearer that is no key", bearer("sk-something")),
    refused("an unknown key", bearer(unknown)),
    refused("a key in a scheme of another kind", { authorization: `Basic ${whole.secret}` }),
    refused("a key without a scheme", { authorization: whole.secret }),
    refused("a wrong bearer with a right x-api-key", { ...bearer("tg-wrong"), "x-api-key": whole.secret }),
    refused("a revoked key", bearer(revoked.secret)),
    refused("a disabled key", bearer(disabled.secret)),
    refused("an expired key", bearer(expired.secret)),
    refused("a revoked key in x-api-key", { "x-api-key": revoked.secret }),
    refused("an API key as the admin key", { "x-admin-key": whole.secret }),
    refused("a wrong admin key", { "x-admin-key": "tga-wrong" }),
    refused("the admin key as a bearer", bearer(adminKey)),
    refused("the admin key as an API key", { "x-api-key": adminKey }),
    refused("a suspended user's token", bearer(suspended.token)),
    ...forged(operator.token).map(([name, token]) => refused(name, bearer(token))),
    { name: "a key", headers: bearer(whole.secret), opens: scoped },
    { name: "a key in x-api-key", headers: { "x-api-key": whole.secret }, opens: scoped },
    {
      name: "a key as bearer with a wrong x-api-key",
      headers: { ...bearer(whole.secret), "x-api-key": "tg-wrong" },
      opens: scoped
    },
    { name: "the admin key", headers: { "x-admin-key": adminKey }, opens: new Set<Opener>(["admin"]) },
    {
      name: "a user's token",
      headers: bearer(user.token),
      opens: new Set<Opener>(["session"]),
      forbidden: new Set<Opener>(["admin"])
    },
    { name: "an admin's token", headers: bearer(operator.token), opens: new Set<Opener>(["session", "admin"]) },
    yield* withScopes("a key without scopes", [])
  ]
  for (const scope of allScopes) {
    credentials.push(
      yield* withScopes(`a key with ${scope} alone`, [scope]),
      yield* withScopes(
        `a key with all but ${scope}`,
        allScopes.filter((other) => other !== scope)
      )
    )
  }
  return credentials
})

it("the table has every endpoint of the document, and no other", () => {
  assert.deepStrictEqual(Object.keys(table).sort(), operations.sort())
})

it("an endpoint declares the scope that opens it", () => {
  const declared: Record<string, Scope | null> = {}
  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint: { annotations, method, path } }) => {
      declared[`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`] = Context.get(annotations, RequiredScope)
    }
  })
  const expected = Object.entries(table).map(([operation, opener]) => [
    operation,
    allScopes.find((scope) => scope === opener) ?? null
  ])
  assert.deepStrictEqual(declared, Object.fromEntries(expected))
})

it.effect("each endpoint admits the credentials of the table and no others", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const credentials = yield* makeCredentials
    const wrong: Array<string> = []
    let checks = 0
    for (const [operation, opener] of Object.entries(table)) {
      // Wrong credentials are counted per minute. Open endpoints count every call.
      yield* TestClock.adjust("2 minutes")
      const [method = "", template = ""] = operation.split(" ")
      const path = template.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "")
      for (const { forbidden, headers, name, opens } of credentials) {
        const expected = opener === "open" || opens.has(opener) ? "in" : forbidden?.has(opener) === true ? 403 : 401
        const { status, text } = yield* send(path, { method, body: bodies[operation], headers })
        const isCredentials = status === 401 || (status === 403 && /permission_denied|scope_missing/.test(text))
        // A wrong sign-in code is a different 401.
        const isIn = !isCredentials || /sign_in|code|refresh/.test(JSON.parse(text).error?.code ?? "")
        checks++
        if (expected === "in" ? !isIn : status !== expected) {
          wrong.push(`${operation} with ${name}: ${status} instead of ${expected} ${text.slice(0, 200)}`)
        }
      }
    }
    assert.deepStrictEqual(wrong, [])
    assert.strictEqual(checks, operations.length * credentials.length)
  }).pipe(Effect.provide(app))
)
