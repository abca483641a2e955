/**
 * The audit trail over HTTP: who did what to what, from where, and with which outcome; and the
 * throttle of wrong admin keys.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { noSignIn } from "../../../src/settings/sections/SignIn.ts"
import { TestApp } from "../../support/TestApp.ts"

interface Line {
  readonly message: unknown
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Behind a proxy on this machine, so that a test can choose the address of a request. */
const app = (lines: Array<Line>) =>
  TestApp.layer({ providers: [], settings: { auth: { ...noSignIn, trustedProxies: ["127.0.0.0/8"] } } }).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer([Logger.map(Logger.formatStructured, (line) => void lines.push(line))]),
        Layer.succeed(References.MinimumLogLevel, "Info")
      )
    )
  )

const ask = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: unknown) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const answered = yield* send(path, {
      method,
      body,
      headers: { "x-forwarded-for": "203.0.113.7", "x-request-id": "asked", ...headers }
    })
    return { ...answered, body: JSON.parse(answered.text) as ReturnType<typeof JSON.parse> }
  })

const trailOf = (lines: ReadonlyArray<Line>) =>
  lines.filter(({ annotations }) => annotations["event"] === "audit").map(({ annotations }) => annotations)

const common = { event: "audit", address: "203.0.113.7", request_id: "asked" }

it.effect("records every change of a key, also refused ones, and never a secret", () => {
  const lines: Array<Line> = []
  return Effect.gen(function* () {
    const { adminKey } = yield* TestApp
    const admin = { "x-admin-key": adminKey }
    const made = yield* ask("POST", "/v1/keys", admin, { name: "a name of somebody's" })
    const { id, key } = made.body
    yield* ask("PATCH", `/v1/keys/${id}`, admin, { tier: "pro", name: "another" })
    const rotated = yield* ask("POST", `/v1/keys/${id}/rotate`, admin, { grace_seconds: 0 })
    yield* ask("DELETE", `/v1/keys/${id}`, admin)
    yield* ask("POST", `/v1/keys/${id}/rotate`, admin, { grace_seconds: 0 })
    yield* ask("DELETE", "/v1/keys/anything-of-a-client", admin)
    const many = yield* ask("POST", "/v1/keys", admin, { name: "b" })
    yield* ask("POST", "/v1/keys/bulk", admin, { action: "disable", ids: [many.body.id, id, "a text of a client"] })
    yield* ask("POST", "/v1/keys/bulk", admin, { action: "revoke", ids: [many.body.id, id] })
    const acted = { ...common, actor: "admin_key" }
    assert.deepStrictEqual(trailOf(lines), [
      { ...acted, action: "key.create", outcome: "done", target: id },
      { ...acted, action: "key.change", outcome: "done", target: id, members: ["name", "tier"] },
      { ...acted, action: "key.rotate", outcome: "done", target: id },
      { ...acted, action: "key.revoke", outcome: "done", target: id },
      { ...acted, action: "key.rotate", outcome: "refused", target: id, cause: "KeyRevoked" },
      { ...acted, action: "key.revoke", outcome: "refused", cause: "NotFound" },
      { ...acted, action: "key.create", outcome: "done", target: many.body.id },
      { ...acted, action: "key.change", outcome: "done", target: many.body.id, members: ["state"] },
      { ...acted, action: "key.change", outcome: "refused", target: id, members: ["state"], cause: "KeyRevoked" },
      { ...acted, action: "key.change", outcome: "refused", members: ["state"], cause: "NotFound" },
      { ...acted, action: "key.revoke", outcome: "done", target: many.body.id }
    ])
    const written = JSON.stringify(lines)
    const texts = ["a name of somebody's", "anything-of-a-client", "a text of a client"]
    for (const secret of [key, rotated.body.key, adminKey, ...texts]) {
      assert.notInclude(written, secret)
    }
  }).pipe(Effect.provide(app(lines)))
})

it.effect("lists the events with their names, by each filter, and as CSV, only to admins", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const admin = { "x-admin-key": adminKey }
    const made = yield* ask("POST", "/v1/keys", { ...admin, "x-request-id": "r1" }, { name: "billing" })
    const { id } = made.body
    yield* TestClock.adjust(1)
    yield* ask("PATCH", `/v1/keys/${id}`, { ...admin, "x-request-id": "r2" }, { tier: "pro" })
    yield* TestClock.adjust(1)
    yield* ask("DELETE", `/v1/keys/${id}`, { ...admin, "x-forwarded-for": "203.0.113.8", "x-request-id": "r3" })
    yield* TestClock.adjust(1)
    yield* ask("DELETE", "/v1/keys/any", { ...admin, "x-request-id": "r4" })
    const listed = (query: string) => Effect.map(ask("GET", `/v1/admin/audit${query}`, admin), ({ body }) => body)
    const { data, has_more } = yield* listed(`?target=${id}`)
    assert.isFalse(has_more)
    assert.deepStrictEqual(data[1], {
      id: data[1].id,
      created_at: "1970-01-01T00:00:00.001Z",
      action: "key.change",
      outcome: "done",
      actor: "admin_key",
      actor_id: null,
      actor_name: null,
      address: "203.0.113.7",
      request_id: "r2",
      target: id,
      target_name: "billing",
      details: { members: ["tier"] },
      count: 1
    })
    const found = (query: string) =>
      Effect.map(listed(query), (list) => list.data.map((row: { readonly request_id: string }) => row.request_id))
    const cases = {
      "": ["r4", "r3", "r2", "r1"],
      "?action=key.create": ["r1"],
      "?outcome=refused": ["r4"],
      "?actor=admin_key&limit=1": ["r4"],
      "?actor=usr_0": [],
      "?address=203.0.113.8": ["r3"],
      "?request_id=r2": ["r2"],
      "?from=1970-01-01T00:00:01Z": [],
      "?q=illin": ["r3", "r2", "r1"],
      "?q=203.0.113.8": ["r3"],
      [`?q=${data[0].id}`]: ["r3"],
      [`?cursor=${data[0].id}`]: ["r2", "r1"]
    }
    for (const [query, wanted] of Object.entries(cases)) assert.deepStrictEqual(yield* found(query), wanted, query)
    for (const query of ["?targt=x", "?action=anything", "?cursor=aud_1", "?from=yesterday"]) {
      assert.strictEqual((yield* ask("GET", `/v1/admin/audit${query}`, admin)).status, 422, query)
    }
    const csv = yield* send("/v1/admin/audit?format=csv&outcome=done", { headers: admin })
    assert.strictEqual(csv.headers.get("content-disposition"), 'attachment; filename="audit.csv"')
    const lines = csv.text.split("\r\n")
    assert.lengthOf(lines, 1 + 3 + 1)
    assert.include(lines[2], `,203.0.113.7,r2,${id},billing,"{""members"":[""tier""]}",1`)
  }).pipe(Effect.provide(app([])))
)

it.effect("records sign-ins, sessions and an admin's changes of users, by their ids", () => {
  const lines: Array<Line> = []
  return Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const started = yield* ask("POST", "/auth/register/email/start", {}, { email: "anna@example.com" })
    const { text } = yield* send("/auth/dev/mailbox")
    const { code } = JSON.parse(text).data[0]
    const challenge_id = started.body.challenge_id
    yield* ask("POST", "/auth/register/email/verify", {}, { challenge_id, code: code === "000000" ? "1" : "000000" })
    const { body } = yield* ask("POST", "/auth/register/email/verify", {}, { challenge_id, code })
    const bearer = { authorization: `Bearer ${body.access_token}` }
    const { id } = body.user
    yield* ask("PATCH", `/v1/admin/users/${id}`, bearer, { role: "admin" })
    yield* ask("PATCH", `/v1/admin/users/${id}`, { "x-admin-key": adminKey }, { role: "admin" })
    yield* ask("PATCH", `/v1/admin/users/${id}`, bearer, { status: "suspended" })
    yield* ask("POST", "/auth/logout", {}, { refresh_token: body.refresh_token })
    yield* ask("POST", "/auth/refresh", {}, { refresh_token: body.refresh_token })
    const trail = trailOf(lines)
    const session = trail.find(({ action }) => action === "session.begin")?.["target"]
    const nobody = { ...common, actor: "nobody" }
    const refused = { ...nobody, action: "credential.refuse", outcome: "refused" }
    assert.match(String(session), /^ses_/)
    assert.deepStrictEqual(trail, [
      { ...refused, credential: "code", cause: "SignInRefused" },
      { ...nobody, action: "user.create", outcome: "done", target: id, provider: "email" },
      { ...nobody, action: "session.begin", outcome: "done", target: session, user: id, signed_in_by: "email" },
      { ...refused, credential: "admin_session", cause: "AdminRequired" },
      { ...common, actor: "admin_key", action: "user.change", outcome: "done", target: id, role: "admin" },
      {
        ...common,
        actor: "admin",
        actor_id: id,
        action: "user.change",
        outcome: "refused",
        target: id,
        state: "suspended",
        cause: "OwnAccount"
      },
      { ...nobody, action: "session.end", outcome: "done", target: session, user: id },
      { ...refused, credential: "refresh_token", cause: "SignInRefused" }
    ])
    const written = JSON.stringify(lines)
    for (const secret of [body.access_token, body.refresh_token, code, adminKey, "anna@example.com"]) {
      assert.notInclude(written, secret)
    }
  }).pipe(Effect.provide(app(lines)))
})

it.effect("records a wrong key, with the error and the address in its log line; a missing key is not recorded", () => {
  const lines: Array<Line> = []
  return Effect.gen(function* () {
    yield* ask("GET", "/v1/keys", { "x-admin-key": "a-guess-of-somebody" })
    yield* ask("GET", "/v1/key", { authorization: "Bearer another-guess" })
    yield* ask("GET", "/auth/me", { authorization: "Bearer a-third-guess" })
    yield* ask("POST", "/v1/chat/completions", { authorization: "Bearer a-fourth-guess" }, {})
    yield* ask("GET", "/v1/keys", {})
    yield* ask("GET", "/v1/key", {})
    assert.deepStrictEqual(
      trailOf(lines).map(({ address, cause, credential }) => [credential, cause, address]),
      [
        ["admin_key", "AdminUnauthenticated", "203.0.113.7"],
        ["api_key", "Unauthenticated", "203.0.113.7"],
        ["session", "SignInRefused", "203.0.113.7"],
        ["api_key", "Unauthenticated", "203.0.113.7"]
      ]
    )
    const [first] = lines.filter(({ message }) => message === "request")
    assert.strictEqual(first?.level, "WARN")
    assert.deepInclude(first?.annotations, {
      error_type: "authentication_error",
      address: "203.0.113.7",
      status: 401
    })
    assert.notInclude(JSON.stringify(lines), "guess")
    yield* TestClock.adjust("1 second")
    const { adminKey } = yield* TestApp
    const { body } = yield* ask("GET", "/v1/admin/refused-credentials", { "x-admin-key": adminKey })
    assert.deepStrictEqual(body, {
      object: "list",
      data: [
        {
          address: "203.0.113.7",
          count: 4,
          first_at: "1970-01-01T00:00:00.000Z",
          last_at: "1970-01-01T00:00:00.000Z",
          by_credential: { admin_key: 1, api_key: 2, session: 1 }
        }
      ],
      has_more: false
    })
  }).pipe(Effect.provide(app(lines)))
})

it.effect(
  "after ten wrong admin keys a minute a network's keys are refused unread; other networks are not affected",
  () =>
    Effect.gen(function* () {
      const { adminKey } = yield* TestApp
      const guess = (address: string, key = "a-wrong-admin-key") =>
        ask("GET", "/v1/keys", { "x-admin-key": key, "x-forwarded-for": address })
      const guesses = yield* Effect.forEach(Array.from({ length: 12 }), () => guess("203.0.113.7"))
      assert.deepStrictEqual(
        guesses.map(({ status }) => status),
        [...Array.from({ length: 10 }, () => 401), 429, 429]
      )
      assert.deepInclude(guesses[11]?.body.error, { code: "sign_in_limit_exceeded", retryable: true })
      const retryAfter = Number(guesses[11]?.headers.get("retry-after"))
      assert.isAtLeast(retryAfter, 1)
      // Even the right key is refused: nothing is compared.
      assert.strictEqual((yield* guess("203.0.113.7", adminKey)).status, 429)
      assert.strictEqual((yield* guess("203.0.113.8", adminKey)).status, 200)
      yield* TestClock.adjust(retryAfter * 1000)
      assert.strictEqual((yield* guess("203.0.113.7", adminKey)).status, 200)
      // The addresses of one IPv6 subscriber count as one network.
      yield* Effect.forEach(Array.from({ length: 11 }), (_, n) => guess(`2001:db8:1:2::${n + 1}`))
      assert.strictEqual((yield* guess("2001:db8:1:2:ffff::1")).status, 429)
      assert.strictEqual((yield* guess("2001:db8:1:3::1", adminKey)).status, 200)
    }).pipe(Effect.provide(app([])))
)
