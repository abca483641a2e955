/**
 * A user's whole session: signs in by each method, makes a key, chats with it, reads the usage,
 * rotates it, logs out.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { UserAdmin } from "../../src/gateway/signin/UserAdmin.ts"
import { Users } from "../../src/store/people/Users.ts"
import { noSignIn } from "../../src/settings/sections/SignIn.ts"
import { helloReply } from "../contract/wire.ts"
import { TestApp } from "../support/TestApp.ts"
import { Browser, type Visit } from "./Browser.ts"
import { startGitHub, startOidcServer } from "./identityServers.ts"
import { startMailServer } from "./mailServer.ts"
import { startSmsServer } from "./smsServer.ts"

const providers = [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }]
const app = TestApp.layer({ providers })

type Json = ReturnType<typeof JSON.parse>

const script = (browser: Browser, path: string, visit?: Visit) =>
  Effect.map(
    Effect.promise(() => browser.script(path, visit)),
    (page) => ({ status: page.status, body: page.json() as Json })
  )

/**
 * A browser that is signed in by a code of the development mailbox, and the requests that scripts
 * of its pages can send.
 */
const person = (email: string) =>
  Effect.gen(function* () {
    const { url } = yield* TestApp
    const browser = new Browser(url)
    const started = yield* script(browser, "/auth/register/email/start", { body: { email } })
    const { body } = yield* script(browser, "/auth/dev/mailbox")
    const { code } = body["data"].find(({ destination }: Json) => destination === email)
    const verified = yield* script(browser, "/auth/register/email/verify", {
      body: { challenge_id: started.body["challenge_id"], code, refresh_token_in: "cookie" }
    })
    assert.strictEqual(verified.status, 200)
    return { browser, id: verified.body["user"].id as string, ...portal(browser, verified.body["access_token"]) }
  })

const portal = (browser: Browser, access: string) => {
  const headers = { authorization: `Bearer ${access}` }
  const ask = (path: string, visit: Visit = {}) =>
    script(browser, path, { ...visit, headers: { ...headers, ...visit.headers } })
  return {
    ask,
    makeKey: (body: object) => ask("/v1/portal/keys", { body }),
    change: (id: string, body: object) => ask(`/v1/portal/keys/${id}`, { method: "PATCH", body })
  }
}

const chat = (key: string) =>
  Effect.flatMap(TestApp, (app) =>
    app.chat(
      { model: "test/small", messages: [{ role: "user", content: "Hi" }] },
      { key, headers: { "cache-control": "no-store" } }
    )
  )

const admin = (method: string, path: string, body?: unknown) =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const { status, text } = yield* send(path, { method, body, headers: { "x-admin-key": adminKey } })
    return { status, body: JSON.parse(text) as Json }
  })

/** With an access token: makes a key, chats, reads usage, rotates, logs out. */
const dayInTheLife = (browser: Browser, access: string) =>
  Effect.gen(function* () {
    const { ask, makeKey } = portal(browser, access)
    const made = yield* makeKey({ name: "mine", scopes: ["chat:write"], monthly_budget_usd: 0.5 })
    assert.deepInclude(made.body, { tier: "free", monthly_budget_usd: 0.5, scopes: ["chat:write"], status: "active" })
    assert.strictEqual((yield* chat(made.body["key"])).status, 200)
    const usage = yield* ask("/v1/portal/usage")
    assert.deepInclude(usage.body["by_key"][0], { key_id: made.body["id"], name: "mine", requests: 1 })
    assert.deepInclude(usage.body["by_model"][0], { model: "test/small", requests: 1 })
    assert.isAbove(usage.body["total"].billed_usd, 0)

    const rotated = yield* ask(`/v1/portal/keys/${made.body["id"]}/rotate`, { body: {} })
    assert.strictEqual(rotated.body["id"], made.body["id"])
    assert.deepStrictEqual(
      [(yield* chat(made.body["key"])).status, (yield* chat(rotated.body["key"])).status],
      [401, 200]
    )

    // A page that was closed and opened again has only the cookie.
    const refreshed = yield* script(browser, "/auth/refresh", { method: "POST" })
    assert.deepStrictEqual([refreshed.status, refreshed.body["refresh_token"]], [200, null])
    const again = portal(browser, refreshed.body["access_token"])
    assert.lengthOf((yield* again.ask("/v1/portal/keys")).body["data"], 1)

    assert.deepStrictEqual((yield* script(browser, "/auth/logout", { method: "POST" })).body, { ok: true })
    assert.deepStrictEqual(browser.cookies("/auth/refresh"), {})
    assert.strictEqual((yield* again.ask("/v1/portal/keys")).status, 401)
    assert.strictEqual((yield* script(browser, "/auth/refresh", { method: "POST" })).status, 401)
    // The key keeps working: it does not depend on the session.
    assert.strictEqual((yield* chat(rotated.body["key"])).status, 200)
  })

describe("a whole session", () => {
  it.effect("of a user who signs in by mail, by SMS, by OIDC and by GitHub", () =>
    Effect.gen(function* () {
      const [mail, sms, oidc, github] = [
        yield* startMailServer,
        yield* startSmsServer,
        yield* startOidcServer,
        yield* startGitHub
      ]
      yield* TestClock.setTime(Date.now())
      oidc.signsIn({ sub: "1", email: "oidc@example.com", email_verified: true })
      github.signsIn({ id: 1, emails: [{ email: "github@example.com", primary: true, verified: true }] })
      const client = (issuer: string) => ({
        clientId: "client",
        clientSecret: Redacted.make("github-secret"),
        issuer
      })
      const auth = {
        ...noSignIn,
        oauth: { google: client(oidc.issuer), github: client(github.base) },
        email: { smtpUrl: Redacted.make(mail.url), from: "codes@example.com" },
        sms: {
          baseUrl: sms.url,
          account: "AC17",
          token: Redacted.make("secret-token"),
          from: "+15005550006",
          countries: ["US"]
        }
      }
      yield* Effect.gen(function* () {
        const { url } = yield* TestApp
        const byCode = (channel: string, destination: object, code: Effect.Effect<string>) =>
          Effect.gen(function* () {
            const browser = new Browser(url)
            const started = yield* script(browser, `/auth/register/${channel}/start`, { body: destination })
            const body = { challenge_id: started.body["challenge_id"], code: yield* code, refresh_token_in: "cookie" }
            const verified = yield* script(browser, `/auth/register/${channel}/verify`, { body })
            yield* dayInTheLife(browser, verified.body["access_token"])
          })
        const digits = (text: string | undefined): string => /\d{6}/.exec(text ?? "")?.[0] ?? ""
        yield* byCode(
          "email",
          { email: "mail@example.com" },
          Effect.map(mail.next, ({ mail }) => digits(mail.text))
        )
        yield* byCode(
          "sms",
          { phone: "+12025550123" },
          Effect.map(sms.next, ({ body }) => digits(body))
        )
        for (const provider of ["google", "github"]) {
          const browser = new Browser(url)
          const start = `/auth/oauth/${provider}/start?redirect_to=%2Fconsole`
          const last = yield* Effect.promise(() => browser.visit(start, { redirects: 2 }))
          assert.strictEqual(last.headers.get("location"), "/console")
          const { body } = yield* script(browser, "/auth/refresh", { method: "POST" })
          yield* dayInTheLife(browser, body["access_token"])
        }
      }).pipe(Effect.provide(TestApp.layer({ providers, settings: { auth } })))
    }).pipe(Effect.scoped)
  )
})

describe("grants", () => {
  it.effect(
    "limit tier, scopes and the budget of all keys together; omitted members default to the most that is granted",
    () =>
      Effect.gen(function* () {
        const { ask, id, makeKey } = yield* person("anna@example.com")
        yield* admin("PATCH", `/v1/admin/users/${id}`, {
          grants: { tier: "pro", monthly_budget_usd: 10, scopes: ["chat:write", "models:read"] }
        })
        const refused = [
          [{ tier: "enterprise" }, "tier"],
          [{ scopes: ["chat:write", "embeddings:write"] }, "scopes"],
          [{ monthly_budget_usd: 10.01 }, "monthly_budget_usd"]
        ] as const
        for (const [wanted, param] of refused) {
          const { body, status } = yield* makeKey({ name: "greedy", ...wanted })
          assert.deepStrictEqual([status, body["error"].code, body["error"].param], [403, "grant_exceeded", param])
        }
        const first = yield* makeKey({ name: "first", monthly_budget_usd: 4, tier: "free" })
        assert.strictEqual(first.status, 200)
        const over = yield* makeKey({ name: "over", monthly_budget_usd: 7 })
        assert.deepStrictEqual(over.body["error"].details, { available_usd: 6 })
        assert.deepStrictEqual((yield* ask("/v1/portal/grants")).body, {
          object: "grants",
          tier: "pro",
          scopes: ["chat:write", "models:read"],
          monthly_budget_usd: 10,
          available_usd: 6,
          month_used_usd: 0,
          keys: 1,
          most_keys: 20
        })
        const rest = yield* makeKey({ name: "rest" })
        assert.deepInclude(rest.body, { monthly_budget_usd: 6, tier: "pro", scopes: ["chat:write", "models:read"] })
        for (const wanted of [{}, { monthly_budget_usd: null }, { monthly_budget_usd: 0.01 }]) {
          const none = yield* makeKey({ name: "none", ...wanted })
          assert.deepInclude(none.body["error"], { code: "grant_exceeded", details: { available_usd: 0 } })
          assert.match(none.body["error"].message, /Your keys use up the budget/)
        }
        yield* admin("PATCH", `/v1/admin/users/${id}`, { grants: { monthly_budget_usd: 0 } })
        const poor = yield* makeKey({ name: "poor" })
        assert.strictEqual(poor.status, 403)
        assert.match(poor.body["error"].message, /You have no budget yet/)
      }).pipe(Effect.provide(app))
  )

  it.effect("hold for concurrent requests", () =>
    Effect.gen(function* () {
      const { ask, id, makeKey } = yield* person("anna@example.com")
      yield* admin("PATCH", `/v1/admin/users/${id}`, { grants: { monthly_budget_usd: 10 } })
      const made = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => makeKey({ name: "k", monthly_budget_usd: 6 }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        made.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 403, 403, 403, 403, 403, 403, 403]
      )
      // No key was made and revoked again either.
      assert.lengthOf((yield* ask("/v1/portal/keys")).body["data"], 1)
    }).pipe(Effect.provide(app))
  )

  it.effect("allow the owner alone to lower and raise a budget within them", () =>
    Effect.gen(function* () {
      const anna = yield* person("anna@example.com")
      const berta = yield* person("berta@example.com")
      const key = (yield* anna.makeKey({ name: "a", monthly_budget_usd: 0.6 })).body
      const other = (yield* anna.makeKey({ name: "b", monthly_budget_usd: 0.1 })).body
      assert.strictEqual((yield* anna.change(key["id"], { monthly_budget_usd: 0.95 })).status, 403)
      assert.strictEqual((yield* anna.change(key["id"], { tier: "pro" })).status, 403)
      const raised = yield* anna.change(key["id"], { monthly_budget_usd: 0.9, name: "c" })
      assert.deepInclude(raised.body, { monthly_budget_usd: 0.9, name: "c" })
      assert.strictEqual((yield* anna.change(key["id"], { monthly_budget_usd: null })).body["monthly_budget_usd"], 0.9)
      assert.strictEqual((yield* anna.change(key["id"], { status: "disabled" })).body["status"], "disabled")
      assert.strictEqual((yield* chat(key["key"])).status, 401)

      const strangers = [
        yield* berta.change(key["id"], { name: "mine now" }),
        yield* berta.ask(`/v1/portal/keys/${key["id"]}`, { method: "DELETE" }),
        yield* berta.ask(`/v1/portal/keys/${key["id"]}/rotate`, { body: {} }),
        yield* berta.change("key_nonsense", { name: "x" })
      ]
      for (const { body, status } of strangers) {
        assert.deepStrictEqual([status, body["error"].code], [404, "key_not_found"])
      }
      assert.lengthOf((yield* berta.ask("/v1/portal/keys")).body["data"], 0)
      const revoked = yield* anna.ask(`/v1/portal/keys/${other["id"]}`, { method: "DELETE" })
      assert.strictEqual(revoked.body["status"], "revoked")
      const listed = (yield* anna.ask("/v1/portal/keys")).body["data"]
      assert.deepStrictEqual(
        listed.map(({ name }: Json) => name),
        ["b", "c"]
      )
      assert.strictEqual(listed[0].owner, anna.id)
    }).pipe(Effect.provide(app))
  )

  it.effect("allow at most twenty keys, and ten new ones a minute", () =>
    Effect.gen(function* () {
      const { makeKey } = yield* person("anna@example.com")
      const many = (count: number) =>
        Effect.forEach(Array.from({ length: count }), () => makeKey({ name: "k", monthly_budget_usd: 0.000001 }))
      assert.deepStrictEqual(
        (yield* many(11)).map(({ status }) => status),
        [...Array.from({ length: 10 }, () => 200), 429]
      )
      yield* TestClock.adjust("1 minute")
      yield* many(10)
      yield* TestClock.adjust("1 minute")
      const [over] = yield* many(1)
      assert.deepStrictEqual([over?.status, over?.body["error"].code], [403, "grant_exceeded"])
    }).pipe(Effect.provide(app))
  )

  it.effect("reduce existing keys when they are lowered", () =>
    Effect.gen(function* () {
      const { ask, id, makeKey } = yield* person("anna@example.com")
      const grant = (grants: object) => admin("PATCH", `/v1/admin/users/${id}`, { grants })
      yield* grant({ tier: "enterprise", monthly_budget_usd: null })
      const free = yield* makeKey({ name: "free" })
      assert.deepInclude(free.body, { tier: "enterprise", monthly_budget_usd: null })
      const { body } = yield* grant({ tier: "pro", monthly_budget_usd: 3, scopes: ["chat:write"] })
      assert.deepInclude(body["grants"], { tier: "pro", monthly_budget_usd: 3, scopes: ["chat:write"] })
      const [cut] = (yield* ask("/v1/portal/keys")).body["data"]
      assert.deepInclude(cut, { tier: "pro", monthly_budget_usd: 3, scopes: ["chat:write"] })
    }).pipe(Effect.provide(app))
  )
})

describe("usage", () => {
  it.effect("is the user's own, by day, model and key, in the requested period", () =>
    Effect.gen(function* () {
      const anna = yield* person("anna@example.com")
      const [one, two] = [
        (yield* anna.makeKey({ name: "one", monthly_budget_usd: 0.5 })).body,
        (yield* anna.makeKey({ name: "two" })).body
      ]
      yield* chat(one["key"])
      yield* chat(one["key"])
      yield* TestClock.adjust("1 day")
      yield* chat(two["key"])
      const { body: renewed } = yield* script(anna.browser, "/auth/refresh", { method: "POST" })
      const later = portal(anna.browser, renewed["access_token"])
      const { body } = yield* later.ask("/v1/portal/usage")
      assert.deepInclude(body, { object: "usage", from: "1970-01-01T00:00:00.000Z", to: "1970-01-03T00:00:00.000Z" })
      assert.deepStrictEqual(
        body["by_day"].map(({ date, requests }: Json) => [date, requests]),
        [
          ["1970-01-01", 2],
          ["1970-01-02", 1]
        ]
      )
      assert.deepStrictEqual(
        body["by_key"].map(({ name, requests }: Json) => [name, requests]),
        [
          ["one", 2],
          ["two", 1]
        ]
      )
      assert.deepStrictEqual(
        body["by_model"].map(({ model, prompt_tokens, requests }: Json) => [model, requests, prompt_tokens]),
        [["test/small", 3, body["total"].prompt_tokens]]
      )
      const first = yield* later.ask("/v1/portal/usage?from=1970-01-01T00:00:00Z&to=1970-01-02T00:00:00Z")
      assert.strictEqual(first.body["total"].requests, 2)
      const { ask } = yield* person("berta@example.com")
      assert.strictEqual((yield* ask("/v1/portal/usage")).body["total"].requests, 0)
      for (const span of ["from=1970-01-02T00:00:00Z&to=1970-01-01T00:00:00Z", "from=1960-01-01T00:00:00Z"]) {
        const { body, status } = yield* later.ask(`/v1/portal/usage?${span}`)
        assert.deepStrictEqual([status, body["error"].code], [400, "invalid_span"])
      }
      assert.strictEqual((yield* later.ask("/v1/portal/usage?from=yesterday")).status, 422)
    }).pipe(Effect.provide(app))
  )
})

describe("an admin", () => {
  it.effect("lists users, finds one, and gets a 404 for an unknown one", () =>
    Effect.gen(function* () {
      const anna = yield* person("anna@example.com")
      const berta = yield* person("berta@example.com")
      const { body } = yield* admin("GET", "/v1/admin/users?limit=1")
      assert.deepStrictEqual([body["data"][0].id, body["has_more"], body["next_cursor"]], [berta.id, true, berta.id])
      const rest = yield* admin("GET", `/v1/admin/users?cursor=${body["next_cursor"]}`)
      assert.deepInclude(rest.body["data"][0], {
        object: "user",
        id: anna.id,
        email: "anna@example.com",
        role: "user",
        status: "active"
      })
      assert.deepInclude(rest.body["data"][0].grants, { tier: "free", monthly_budget_usd: 1 })
      const found = yield* admin("GET", "/v1/admin/users?email=Anna@Example.com")
      assert.lengthOf(found.body["data"], 1)
      const search = yield* admin("GET", "/v1/admin/users?search=ANNA@")
      assert.deepStrictEqual(search.body["data"], found.body["data"])
      assert.strictEqual((yield* admin("GET", "/v1/admin/users?search=a%00")).status, 422)
      for (const id of ["nonsense", `usr_${"0".repeat(32)}`]) {
        const { body, status } = yield* admin("PATCH", `/v1/admin/users/${id}`, { status: "suspended" })
        assert.deepStrictEqual([status, body["error"].code], [404, "user_not_found"])
      }
      assert.strictEqual((yield* admin("PATCH", `/v1/admin/users/${anna.id}`, { role: "god" })).status, 422)
      assert.strictEqual((yield* anna.ask("/v1/admin/users")).status, 403)
    }).pipe(Effect.provide(app))
  )

  it.effect("suspends a user: sessions end and keys stop at once; lifting it restores the keys at once", () =>
    Effect.gen(function* () {
      const { ask, id, makeKey } = yield* person("anna@example.com")
      const key = (yield* makeKey({ name: "k", scopes: ["chat:write"] })).body["key"]
      assert.strictEqual((yield* chat(key)).status, 200)
      const suspended = yield* admin("PATCH", `/v1/admin/users/${id}`, { status: "suspended" })
      assert.strictEqual(suspended.body["status"], "suspended")
      assert.strictEqual((yield* chat(key)).status, 401)
      assert.strictEqual((yield* ask("/auth/me")).status, 401)
      yield* admin("PATCH", `/v1/admin/users/${id}`, { status: "active" })
      assert.strictEqual((yield* chat(key)).status, 200)
      // The session stays ended. The user signs in again.
      assert.strictEqual((yield* ask("/auth/me")).status, 401)
    }).pipe(Effect.provide(app))
  )

  it.effect("has the role from the moment it is granted until the moment it is revoked", () =>
    Effect.gen(function* () {
      const { ask, id } = yield* person("anna@example.com")
      assert.strictEqual((yield* ask("/auth/me")).body["role"], "user")
      const makesAdmin = yield* admin("PATCH", `/v1/admin/users/${id}`, { role: "admin" })
      assert.strictEqual(makesAdmin.status, 200)
      assert.strictEqual((yield* ask("/v1/admin/users")).status, 200)
      assert.strictEqual((yield* ask("/auth/me")).body["role"], "admin")
      yield* admin("PATCH", `/v1/admin/users/${id}`, { role: "user" })
      assert.strictEqual((yield* ask("/v1/admin/users")).status, 403)
    }).pipe(Effect.provide(app))
  )

  it.effect("loses all rights when suspended or demoted, by whichever process", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const { ask, id } = yield* person("anna@example.com")
      const restores = () =>
        ask(`/v1/admin/users/${id}`, { method: "PATCH", body: { status: "active", role: "admin" } })
      const issues = () => ask("/v1/keys", { body: { name: "mine", tier: "enterprise" } })
      yield* admin("PATCH", `/v1/admin/users/${id}`, { role: "admin" })
      assert.strictEqual((yield* issues()).status, 200)
      // By another process: this one is not notified, and its cached look-ups are still valid.
      yield* users.update(id, { role: "user" }, 0)
      assert.deepStrictEqual([(yield* issues()).status, (yield* restores()).status], [403, 403])
      yield* users.update(id, { role: "admin", state: "suspended" }, 0)
      assert.deepStrictEqual([(yield* issues()).status, (yield* restores()).status], [401, 401])
      yield* users.update(id, { state: "active" }, 0)
      assert.strictEqual((yield* issues()).status, 200)
      yield* admin("PATCH", `/v1/admin/users/${id}`, { status: "suspended" })
      assert.deepStrictEqual([(yield* issues()).status, (yield* restores()).status], [401, 401])
    }).pipe(Effect.provide(app))
  )

  it.effect("cannot change their own role or status, but other members", () =>
    Effect.gen(function* () {
      const { ask, id } = yield* person("anna@example.com")
      yield* admin("PATCH", `/v1/admin/users/${id}`, { role: "admin" })
      const change = (body: object) => ask(`/v1/admin/users/${id}`, { method: "PATCH", body })
      for (const body of [{ role: "user" }, { status: "suspended" }, { status: "suspended", role: "admin" }]) {
        const refused = yield* change(body)
        assert.deepStrictEqual([refused.status, refused.body["error"].code], [403, "own_account"])
      }
      const changed = yield* change({ role: "admin", status: "active", grants: { monthly_budget_usd: 2 } })
      assert.deepStrictEqual([changed.status, changed.body["grants"].monthly_budget_usd], [200, 2])
      const berta = yield* person("berta@example.com")
      const other = yield* ask(`/v1/admin/users/${berta.id}`, { method: "PATCH", body: { status: "suspended" } })
      assert.strictEqual(other.body["status"], "suspended")
    }).pipe(Effect.provide(app))
  )

  it.effect("is granted by address, before or after the first sign-in", () =>
    Effect.gen(function* () {
      const members = yield* UserAdmin
      const { user } = yield* members.grantAdmin("root@example.com")
      const root = yield* person("root@example.com")
      assert.strictEqual(root.id, user.id)
      assert.strictEqual((yield* root.ask("/v1/admin/users")).status, 200)
      const anna = yield* person("anna@example.com")
      const again = yield* members.grantAdmin("anna@example.com")
      assert.deepInclude(again.user, { id: anna.id, role: "admin" })
    }).pipe(Effect.provide(app))
  )
})

describe("a page of another site", () => {
  it.effect("cannot refresh, log out, or sign a browser in to another account", () =>
    Effect.gen(function* () {
      const { browser } = yield* person("anna@example.com")
      const thief = yield* person("thief@example.com")
      const started = yield* script(thief.browser, "/auth/register/email/start", {
        body: { email: "trap@example.com" }
      })
      const { code } = (yield* script(thief.browser, "/auth/dev/mailbox")).body["data"][0]
      const attempts: ReadonlyArray<readonly [string, Visit]> = [
        ["/auth/refresh", { method: "POST" }],
        ["/auth/logout", { method: "POST" }],
        ["/auth/register/email/verify", { body: { challenge_id: started.body["challenge_id"], code } }],
        ["/auth/register/email/start", { body: { email: "victim@example.com" } }]
      ]
      const cookies = browser.cookies("/auth/refresh")
      for (const [path, visit] of attempts) {
        for (const headers of [{}, { "sec-fetch-site": "same-site" }]) {
          const refused = yield* script(browser, path, { ...visit, headers, from: "https://evil.example" })
          assert.deepStrictEqual([refused.status, refused.body["error"].code], [403, "foreign_site"], path)
        }
        // A browser that does not send the site sends the origin.
        const { send } = yield* TestApp
        for (const origin of ["https://evil.example", "null", "not a url"]) {
          const refused = yield* send(path, { method: "POST", body: visit.body, headers: { origin } })
          assert.strictEqual(refused.status, 403, `${path} ${origin}`)
        }
      }
      assert.deepStrictEqual(browser.cookies("/auth/refresh"), cookies)
      assert.strictEqual((yield* script(browser, "/auth/refresh", { method: "POST" })).status, 200)
    }).pipe(Effect.provide(app))
  )
})
