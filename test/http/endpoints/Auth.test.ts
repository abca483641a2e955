/** Codes, tokens and sessions over HTTP, on the development mailbox. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { UserAdmin } from "../../../src/gateway/signin/UserAdmin.ts"
import { noSignIn } from "../../../src/settings/sections/SignIn.ts"
import { type SentRequest, TestApp } from "../../support/TestApp.ts"

const app = TestApp.layer({ providers: [] })

const trustedProxies = ["127.0.0.0/8", "::1/128"]

const ask = (path: string, request?: SentRequest) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers, status, text } = yield* send(path, request)
    return { status, headers, body: JSON.parse(text) }
  })

const start = (email: string) => ask("/auth/register/email/start", { body: { email } })
const letters = Effect.map(ask("/auth/dev/mailbox"), ({ body }) => body.data)
const verify = (challenge_id: string, code: string, more: object = {}) =>
  ask("/auth/register/email/verify", { body: { challenge_id, code, ...more } })
const refresh = (refresh_token: string) => ask("/auth/refresh", { body: { refresh_token } })
const me = (key: string) => ask("/auth/me", { key })

/** Signs in with a code of the mailbox. */
const signIn = (email: string, more: object = {}) =>
  Effect.gen(function* () {
    const { body } = yield* start(email)
    const [letter] = yield* letters
    return yield* verify(body.challenge_id, letter.code, more)
  })

it.effect("a code signs in: challenge, code, tokens, user", () =>
  Effect.gen(function* () {
    const started = yield* start(" Anna.Smith@Example.COM ")
    assert.strictEqual(started.status, 200)
    const { challenge_id, ...rest } = started.body
    assert.match(challenge_id, /^chl_/)
    assert.deepStrictEqual(rest, {
      channel: "email",
      expires_in: 600,
      resend_after: 60,
      masked_destination: "a•••@example.com"
    })
    const [letter] = yield* letters
    assert.deepInclude(letter, { channel: "email", destination: "anna.smith@example.com" })
    assert.match(letter.code, /^\d{6}$/)

    const signedIn = yield* verify(challenge_id, letter.code)
    assert.strictEqual(signedIn.status, 200)
    assert.strictEqual(signedIn.headers.get("cache-control"), "no-store")
    const { access_token, refresh_token, user, ...more } = signedIn.body
    assert.deepStrictEqual(more, { token_type: "bearer", expires_in: 900 })
    assert.match(refresh_token, /^tgr-[\w-]{43}$/)
    assert.deepInclude(user, { email: "anna.smith@example.com", phone: null, role: "user" })
    assert.deepStrictEqual((yield* me(access_token)).body, user)
    assert.deepStrictEqual(user.identities, [
      {
        provider: "email",
        subject: "anna.smith@example.com",
        email: "anna.smith@example.com",
        created_at: "1970-01-01T00:00:00.000Z"
      }
    ])
  }).pipe(Effect.provide(app))
)

it.effect("the second sign-in finds the user of the first", () =>
  Effect.gen(function* () {
    const first = yield* signIn("anna@example.com")
    yield* TestClock.adjust("61 seconds")
    const second = yield* signIn("ANNA@example.com")
    assert.strictEqual(second.body.user.id, first.body.user.id)
    assert.strictEqual(second.body.user.last_sign_in_at, "1970-01-01T00:01:01.000Z")
    assert.notStrictEqual(second.body.refresh_token, first.body.refresh_token)
  }).pipe(Effect.provide(app))
)

it.effect("a code works once, for five attempts and ten minutes, and for its own challenge only", () =>
  Effect.gen(function* () {
    const { body } = yield* start("anna@example.com")
    const [{ code }] = yield* letters
    const wrong = code === "000000" ? "000001" : "000000"
    const refusals = [yield* verify(body.challenge_id, wrong)]
    assert.strictEqual((yield* verify(body.challenge_id, code)).status, 200)
    refusals.push(yield* verify(body.challenge_id, code))

    const other = (yield* start("berta@example.com")).body.challenge_id
    refusals.push(yield* verify(other, code === (yield* letters)[0].code ? wrong : code))
    for (let tries = 0; tries < 4; tries++) refusals.push(yield* verify(other, "12345"))
    refusals.push(yield* verify(other, (yield* letters)[0].code))

    const late = (yield* start("carla@example.com")).body.challenge_id
    const [letter] = yield* letters
    yield* TestClock.adjust("10 minutes")
    refusals.push(yield* verify(late, letter.code))
    refusals.push(yield* verify("chl_00000000000000000000000000000000", code), yield* verify("nonsense", ""))

    const messages = refusals.map(({ body, status }) => [status, body.error.type, body.error.code, body.error.message])
    assert.strictEqual(new Set(messages.map((one) => JSON.stringify(one))).size, 1)
    assert.deepStrictEqual(messages[0]?.slice(0, 3), [401, "authentication_error", "invalid_code"])
  }).pipe(Effect.provide(app))
)

it.effect("a code allows five guesses in total, whichever networks they come from", () =>
  Effect.gen(function* () {
    const { body } = yield* start("victim@example.com")
    const [{ code }] = yield* letters
    const guess = (code: string, network: number) =>
      ask("/auth/register/email/verify", {
        body: { challenge_id: body.challenge_id, code },
        headers: { "x-forwarded-for": `198.51.100.${network}` }
      })
    const wrong = Array.from({ length: 40 }, (_, index) =>
      String((Number(code) + 1 + index) % 1_000_000).padStart(6, "0")
    )
    const guesses = yield* Effect.forEach(wrong, guess, { concurrency: "unbounded" })
    assert.deepStrictEqual([...new Set(guesses.map(({ status }) => status))], [401])
    const right = yield* guess(code, 99)
    assert.deepStrictEqual([right.status, right.body.error.code], [401, "invalid_code"])

    // Each guess requests another code: four more of the hour have five attempts each, later ones
    // have one.
    const attempts = yield* Effect.forEach(Array.from({ length: 6 }), (_, index) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 minute")
        const headers = { "x-forwarded-for": `203.0.113.${index}` }
        const started = yield* ask("/auth/register/email/start", { body: { email: "victim@example.com" }, headers })
        const [letter] = yield* letters
        const wrong = letter.code === "000000" ? "000001" : "000000"
        const tried = (code: string) =>
          ask("/auth/register/email/verify", { body: { challenge_id: started.body.challenge_id, code }, headers })
        yield* tried(wrong)
        return (yield* tried(letter.code)).status
      })
    )
    assert.deepStrictEqual(attempts, [200, 200, 200, 200, 401, 401])
  }).pipe(
    Effect.provide(
      TestApp.layer({ providers: [], settings: { auth: { ...noSignIn, trustedProxies: ["127.0.0.0/8", "::1/128"] } } })
    )
  )
)

it.effect("a code of one channel does not work for another", () =>
  Effect.gen(function* () {
    const { body } = yield* start("anna@example.com")
    const [{ code }] = yield* letters
    const other = yield* ask("/auth/register/sms/verify", { body: { challenge_id: body.challenge_id, code } })
    assert.strictEqual(other.body.error.code, "invalid_code")
  }).pipe(Effect.provide(app))
)

it.effect("phone numbers sign in as well, as separate users", () =>
  Effect.gen(function* () {
    const started = yield* ask("/auth/register/sms/start", { body: { phone: "+12025550123" } })
    assert.deepInclude(started.body, { channel: "sms", masked_destination: "+1•••23" })
    const [{ code, destination }] = yield* letters
    assert.strictEqual(destination, "+12025550123")
    const { body } = yield* ask("/auth/register/sms/verify", {
      body: { challenge_id: started.body.challenge_id, code }
    })
    assert.deepInclude(body.user, { email: null, phone: "+12025550123" })
  }).pipe(Effect.provide(app))
)

it.effect("422 for an unknown channel, a missing or malformed destination, in the words of the rest of the API", () =>
  Effect.gen(function* () {
    const faults = (path: string, body: unknown) =>
      Effect.map(ask(path, { body }), ({ body, status }) => {
        assert.strictEqual(status, 422)
        assert.strictEqual(body.error.code, "validation_failed")
        return body.detail.map(({ loc, type }: { loc: unknown; type: string }) => [loc, type])
      })
    const begin = "/auth/register/email/start"
    assert.deepStrictEqual(yield* faults("/auth/register/fax/start", { email: "a@b.c" }), [
      [["path", "channel"], "literal_error"]
    ])
    assert.deepStrictEqual(yield* faults(begin, { phone: "+12025550123" }), [[["body", "email"], "missing"]])
    assert.deepStrictEqual(yield* faults("/auth/register/sms/start", {}), [[["body", "phone"], "missing"]])
    for (const email of [
      "",
      "a",
      "@b.c",
      "a@",
      "a b@c.d",
      "a@b..c",
      "a@b@c.d",
      "a\u0000@b.c",
      '"a"@b.c',
      "ä@b.c",
      "a@-b.c"
    ]) {
      assert.deepStrictEqual((yield* faults(begin, { email }))[0][0], ["body", "email"], email)
    }
    for (const phone of ["12025550123", "+0123456789", "+1202", "+1202555012x", "+12025550123456789"]) {
      const found = yield* faults("/auth/register/sms/start", { phone })
      assert.deepStrictEqual(found, [[["body", "phone"], "value_error"]], phone)
    }
    assert.deepStrictEqual(yield* faults("/auth/register/email/verify", {}), [
      [["body", "challenge_id"], "missing"],
      [["body", "code"], "missing"]
    ])
    assert.deepStrictEqual(yield* letters, [])
  }).pipe(Effect.provide(app))
)

it.effect("one code a minute and five an hour per destination, within the limit of a network address", () =>
  Effect.gen(function* () {
    assert.strictEqual((yield* start("anna@example.com")).status, 200)
    const again = yield* start("anna@example.com")
    assert.deepInclude(again.body.error, {
      type: "rate_limit_exceeded",
      code: "sign_in_limit_exceeded",
      retry_after: 60
    })
    assert.deepStrictEqual([again.status, again.headers.get("retry-after")], [429, "60"])
    for (let more = 0; more < 4; more++) {
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* start("anna@example.com")).status, 200)
    }
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* start("anna@example.com")).status, 429)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual((yield* start("anna@example.com")).status, 200)

    yield* TestClock.adjust("1 minute")
    const statuses = yield* Effect.forEach(Array.from({ length: 12 }), (_, index) =>
      Effect.map(start(`person${index}@example.com`), ({ status }) => status)
    )
    assert.deepStrictEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429, 429])
  }).pipe(Effect.provide(app))
)

it.effect("a few networks that request codes for an address cannot keep its owner from getting one", () =>
  Effect.gen(function* () {
    const startFrom = (address: string, email = "victim@example.com") =>
      ask("/auth/register/email/start", { body: { email }, headers: { "x-forwarded-for": address } })
    const own = yield* startFrom("198.51.100.1")
    const [{ code }] = yield* letters
    // Eight networks, one of them an IPv6 site with many addresses, each request as many codes as
    // they may.
    const networks = [1, 2, 3, 4, 5, 6, 7].map((n) => () => `203.0.113.${n}`)
    const site = (round: number) => `2001:db8:1:${round}::1`
    for (let round = 0; round < 6; round++) {
      yield* TestClock.adjust("1 minute")
      for (const address of [...networks, site]) yield* startFrom(address(round))
    }
    const another = yield* startFrom("198.51.100.1")
    assert.strictEqual(another.status, 200)
    const [letter] = yield* letters
    for (const [challenge_id, one] of [
      [another.body.challenge_id, letter.code],
      [own.body.challenge_id, code]
    ]) {
      assert.strictEqual((yield* verify(challenge_id, one)).status, 200)
    }
    // Their own limit is used up, and so is that of the site as a whole.
    assert.strictEqual((yield* startFrom("203.0.113.1")).status, 429)
    assert.strictEqual((yield* startFrom("2001:db8:1:ffff::1")).status, 429)
    assert.strictEqual((yield* startFrom("2001:db8:2::1")).status, 200)
    assert.strictEqual((yield* startFrom("203.0.113.9")).status, 200)
  }).pipe(Effect.provide(TestApp.layer({ providers: [], settings: { auth: { ...noSignIn, trustedProxies } } })))
)

it.effect("a few networks cannot use up all codes; the networks of one site share a limit", () =>
  Effect.gen(function* () {
    let count = 0
    const startFrom = (address: string) =>
      Effect.map(
        ask("/auth/register/email/start", {
          body: { email: `person${++count}@example.com` },
          headers: { "x-forwarded-for": address }
        }),
        ({ status }) => status
      )
    for (const network of [1, 2, 3]) {
      yield* Effect.forEach(Array.from({ length: 10 }), () => startFrom(`203.0.113.${network}`))
    }
    assert.strictEqual(yield* startFrom("203.0.113.4"), 200)
    assert.strictEqual(yield* startFrom("203.0.113.4"), 429)
    assert.strictEqual(yield* startFrom("203.0.113.5"), 200)
    yield* TestClock.adjust("1 minute")
    // Twenty per /56, whatever /64 they come from.
    const statuses = yield* Effect.forEach(Array.from({ length: 24 }), (_, n) => startFrom(`2001:db8:1:a${n % 8}::1`))
    assert.deepStrictEqual(
      statuses,
      Array.from({ length: 24 }, (_, n) => (n < 20 ? 200 : 429))
    )
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [],
        settings: { auth: { ...noSignIn, trustedProxies, limits: { ...noSignIn.limits, globalMinute: 30 } } }
      })
    )
  )
)

it.effect("limits all codes together, and verifications per network", () =>
  Effect.gen(function* () {
    const limits = { ...noSignIn.limits, globalMinute: 3 }
    yield* Effect.gen(function* () {
      const statuses = yield* Effect.forEach(["a@b.c", "d@b.c", "e@b.c", "f@b.c"], (email) =>
        Effect.map(start(email), ({ status }) => status)
      )
      assert.deepStrictEqual(statuses, [200, 200, 200, 429])
      const verifications = yield* Effect.forEach(Array.from({ length: 31 }), () => verify("nonsense", "1"))
      assert.deepStrictEqual(
        verifications.map(({ status }) => status),
        [...Array.from({ length: 30 }, () => 401), 429]
      )
    }).pipe(Effect.provide(TestApp.layer({ providers: [], settings: { auth: { ...noSignIn, limits } } })))
  })
)

it.effect("new users need a verified address of an allowed domain; existing users sign in regardless", () =>
  Effect.gen(function* () {
    const members = yield* UserAdmin
    const { body: started } = yield* start("eve@example.com.evil.example")
    assert.deepInclude(started, { expires_in: 600, resend_after: 60 })
    for (const email of ["eve@evil.example", "eve@mail.example.com", "eve@example.com.evil.example2", "x@ample.com"]) {
      const { body, status } = yield* signIn(email)
      assert.deepStrictEqual([status, body.error.type, body.error.code], [403, "permission_denied", "sign_up_refused"])
    }
    assert.deepStrictEqual((yield* members.list({ limit: 10, cursor: null })).users, [])
    assert.strictEqual((yield* signIn("anna@EXAMPLE.com")).body.user.email, "anna@example.com")
    yield* members.grantAdmin("chief@elsewhere.example")
    assert.strictEqual((yield* signIn("chief@elsewhere.example")).body.user.role, "admin")
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [],
        settings: { auth: { ...noSignIn, allowedDomains: ["example.com", "example.org"] } }
      })
    )
  )
)

it.effect("limits new users per day; existing users sign in regardless", () =>
  Effect.gen(function* () {
    const members = yield* UserAdmin
    assert.strictEqual((yield* signIn("a@example.com")).status, 200)
    assert.strictEqual((yield* signIn("b@example.com")).status, 200)
    const { body, headers, status } = yield* signIn("c@example.com")
    assert.deepStrictEqual(
      [status, body.error.code, body.error.retryable, headers.get("retry-after")],
      [429, "sign_up_limit_exceeded", false, "3600"]
    )
    yield* members.grantAdmin("d@example.com")
    assert.strictEqual((yield* signIn("d@example.com")).status, 200)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual((yield* signIn("a@example.com")).status, 200)
    yield* TestClock.adjust("23 hours")
    assert.strictEqual((yield* signIn("c@example.com")).status, 200)
  }).pipe(
    Effect.provide(
      TestApp.layer({
        providers: [],
        settings: { auth: { ...noSignIn, limits: { ...noSignIn.limits, newAccountsDay: 2 } } }
      })
    )
  )
)

it.effect("the second user of one mailbox has no budget", () =>
  Effect.gen(function* () {
    const members = yield* UserAdmin
    const budgetOf = (email: string) =>
      Effect.flatMap(signIn(email), ({ body }) =>
        Effect.map(members.get(body.user.id), ({ user }) => user.grants.monthlyBudgetNano)
      )
    assert.strictEqual(yield* budgetOf("me@example.com"), 1_000_000_000)
    assert.strictEqual(yield* budgetOf("me+1@example.com"), 0)
    assert.strictEqual(yield* budgetOf("you@example.com"), 1_000_000_000)
  }).pipe(Effect.provide(app))
)

it.effect(
  "a refresh token is exchanged once; its successor is repeated for ten seconds, then reuse ends the session",
  () =>
    Effect.gen(function* () {
      const first = (yield* signIn("anna@example.com")).body
      const second = yield* refresh(first.refresh_token)
      assert.strictEqual(second.status, 200)
      assert.notStrictEqual(second.body.refresh_token, first.refresh_token)
      assert.strictEqual((yield* me(second.body.access_token)).status, 200)
      yield* TestClock.adjust("10 seconds")
      const repeated = yield* refresh(first.refresh_token)
      assert.strictEqual(repeated.body.refresh_token, second.body.refresh_token)
      yield* TestClock.adjust("1 second")
      const reused = yield* refresh(first.refresh_token)
      assert.deepStrictEqual([reused.status, reused.body.error.code], [401, "invalid_refresh_token"])
      assert.strictEqual((yield* refresh(second.body.refresh_token)).status, 401)
      assert.strictEqual((yield* me(second.body.access_token)).status, 401)
    }).pipe(Effect.provide(app))
)

it.effect("an access token expires after its minutes, and cannot be altered", () =>
  Effect.gen(function* () {
    const { access_token } = (yield* signIn("anna@example.com")).body
    const [head = "", claims = "", signature = ""] = access_token.split(".")
    const unsigned = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url")
    const others = [
      "",
      "nonsense",
      `${head}.${claims}.`,
      `${unsigned}.${claims}.`,
      `${head}.${Buffer.from('{"sub":"usr_1"}').toString("base64url")}.${signature}`
    ]
    for (const other of others) {
      const refused = yield* me(other)
      assert.deepStrictEqual([refused.status, refused.body.error.code], [401, "invalid_session"], other)
      assert.strictEqual(refused.headers.get("www-authenticate"), "Bearer")
    }
    yield* TestClock.adjust("899 seconds")
    assert.strictEqual((yield* me(access_token)).status, 200)
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* me(access_token)).status, 401)
  }).pipe(Effect.provide(app))
)

it.effect("the public keys of tokens are published without their private parts", () =>
  Effect.gen(function* () {
    const { access_token } = (yield* signIn("anna@example.com")).body
    const { body, headers } = yield* ask("/.well-known/jwks.json")
    const { kid } = JSON.parse(Buffer.from(access_token.split(".")[0], "base64url").toString())
    assert.include(
      body.keys.map((key: Record<string, string>) => key["kid"]),
      kid
    )
    for (const key of body.keys) {
      assert.deepStrictEqual(Object.keys(key).toSorted(), ["alg", "crv", "kid", "kty", "use", "x"])
    }
    assert.strictEqual(headers.get("cache-control"), "public, max-age=300")
  }).pipe(Effect.provide(app))
)

it.effect("logging out ends this session only, and is idempotent", () =>
  Effect.gen(function* () {
    const anna = (yield* signIn("anna@example.com")).body
    const berta = (yield* signIn("berta@example.com")).body
    const logout = (refresh_token?: string) => ask("/auth/logout", { method: "POST", body: { refresh_token } })
    const once = yield* logout(anna.refresh_token)
    assert.deepStrictEqual([once.status, once.body], [200, { ok: true }])
    for (const token of [anna.refresh_token, "tgr-nonsense", undefined]) {
      assert.deepStrictEqual((yield* logout(token)).body, { ok: true })
    }
    assert.deepStrictEqual((yield* ask("/auth/logout", { method: "POST" })).body, { ok: true })
    assert.strictEqual((yield* refresh(anna.refresh_token)).status, 401)
    assert.strictEqual((yield* me(anna.access_token)).status, 401)
    assert.strictEqual((yield* me(berta.access_token)).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("lists a user's own sessions, and ends them one by one", () =>
  Effect.gen(function* () {
    const one = (yield* signIn("anna@example.com")).body
    yield* TestClock.adjust("1 minute")
    const two = (yield* signIn("anna@example.com")).body
    const berta = (yield* signIn("berta@example.com")).body
    const listed = (yield* ask("/auth/sessions", { key: two.access_token })).body.data
    assert.deepStrictEqual(
      listed.map((session: Record<string, unknown>) => [session["signed_in_by"], session["current"]]),
      [
        ["email", true],
        ["email", false]
      ]
    )
    const path = `/auth/sessions/${listed[1].id}`
    const end = (key: string) => ask(path, { method: "DELETE", key })
    assert.deepStrictEqual((yield* end(berta.access_token)).body.error.code, "session_not_found")
    assert.deepStrictEqual((yield* end(two.access_token)).body, { ok: true })
    assert.deepStrictEqual([(yield* me(one.access_token)).status, (yield* me(two.access_token)).status], [401, 200])
    assert.strictEqual((yield* refresh(one.refresh_token)).status, 401)
    assert.lengthOf((yield* ask("/auth/sessions", { key: two.access_token })).body.data, 1)
    const nowhere = yield* ask("/auth/sessions/nonsense", { method: "DELETE", key: two.access_token })
    assert.strictEqual(nowhere.status, 404)
  }).pipe(Effect.provide(app))
)

it.effect("the client chooses where the refresh token is returned", () =>
  Effect.gen(function* () {
    const both = yield* signIn("anna@example.com")
    assert.match(
      both.headers.get("set-cookie") ?? "",
      /^__Secure-tollgate_refresh=tgr-[\w-]{43}; Max-Age=2592000; Path=\/auth; HttpOnly; Secure; SameSite=Lax$/
    )
    assert.isString(both.body.refresh_token)
    const body = yield* signIn("berta@example.com", { refresh_token_in: "body" })
    assert.deepStrictEqual([body.headers.get("set-cookie"), typeof body.body.refresh_token], [null, "string"])
    const cookie = yield* signIn("carla@example.com", { refresh_token_in: "cookie" })
    assert.isNotNull(cookie.headers.get("set-cookie"))
    assert.isNull(cookie.body.refresh_token)
    const rotated = yield* refresh(body.body.refresh_token)
    assert.deepStrictEqual([rotated.headers.get("set-cookie"), typeof rotated.body.refresh_token], [null, "string"])
  }).pipe(Effect.provide(app))
)

it.effect("an admin's session is accepted like the admin key, while the role lasts", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const members = yield* UserAdmin
    const overview = (request: SentRequest) => ask("/v1/admin/overview", request)
    yield* members.grantAdmin(" Root@Example.com")
    const nobody = yield* Effect.flip(members.grantAdmin("root"))
    assert.strictEqual(nobody.reason._tag, "SignInInputInvalid")
    const root = (yield* signIn("root@example.com")).body
    const anna = (yield* signIn("anna@example.com")).body
    assert.strictEqual(root.user.role, "admin")
    assert.strictEqual((yield* overview({ key: root.access_token })).status, 200)
    assert.strictEqual((yield* overview({ headers: { "x-admin-key": adminKey } })).status, 200)
    const refused = yield* overview({ key: anna.access_token })
    assert.deepStrictEqual([refused.status, refused.body.error.code], [403, "admin_required"])
    assert.strictEqual((yield* overview({ key: "nonsense" })).status, 401)
    // The admin key takes precedence over the session.
    assert.strictEqual((yield* overview({ key: root.access_token, headers: { "x-admin-key": "wrong" } })).status, 401)
    yield* members.change(root.user.id, { role: "user" })
    yield* TestClock.adjust("5 seconds")
    assert.strictEqual((yield* send("/v1/admin/overview", { key: root.access_token })).status, 403)
  }).pipe(Effect.provide(app))
)
