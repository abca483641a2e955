/** Codes by a real SMTP server and by a Twilio-like one, over sockets. */
import { assert, it } from "@effect/vitest"
import { Effect, Logger, Redacted, References } from "effect"
import { noSignIn, type SignInSettings } from "../../src/settings/sections/SignIn.ts"
import { TestApp } from "../support/TestApp.ts"
import { startMailServer } from "./mailServer.ts"
import { startSmsServer } from "./smsServer.ts"

const ask = (path: string, body?: unknown) =>
  Effect.gen(function* () {
    const { status, text } = yield* (yield* TestApp).send(path, { body })
    return { status, body: JSON.parse(text) }
  })

const withAuth = (auth: Partial<SignInSettings>, environment: "development" | "production" = "development") =>
  Effect.provide(TestApp.layer({ providers: [], settings: { environment, auth: { ...noSignIn, ...auth } } }))

const mail = (smtpUrl: string): SignInSettings["email"] => ({
  smtpUrl: Redacted.make(smtpUrl),
  from: "Gateway <codes@gateway.example.com>"
})

const sms = (baseUrl: string, countries: ReadonlyArray<string> = ["US"], token = "secret-token") => ({
  baseUrl,
  account: "AC17",
  token: Redacted.make(token),
  from: "+15005550006",
  countries
})

it.effect("a code arrives by mail, in plain text, and signs in", () =>
  Effect.gen(function* () {
    const server = yield* startMailServer
    yield* Effect.gen(function* () {
      const { body } = yield* ask("/auth/register/email/start", { email: "Anna@Example.com" })
      const { mail, recipients, user } = yield* server.next
      assert.deepStrictEqual([recipients, user], [["anna@example.com"], "codes"])
      assert.deepStrictEqual(mail.from, { address: "codes@gateway.example.com", name: "Gateway" })
      const code = /^\d{6}/.exec(mail.text ?? "")?.[0]
      assert.strictEqual(mail.subject, `${code} is your code for gateway.example.com`)
      assert.include(mail.text, "valid for 10 minutes")
      assert.isUndefined(mail.html)
      const verified = yield* ask("/auth/register/email/verify", { challenge_id: body.challenge_id, code })
      assert.deepStrictEqual([verified.status, verified.body.user.email], [200, "anna@example.com"])
      assert.strictEqual((yield* ask("/auth/dev/mailbox")).status, 200)
    }).pipe(withAuth({ email: mail(server.url), issuer: "https://gateway.example.com" }))
  }).pipe(Effect.scoped)
)

it.effect("an address cannot inject a second recipient or a header", () =>
  Effect.gen(function* () {
    const server = yield* startMailServer
    yield* Effect.gen(function* () {
      const smuggled = [
        "a@b.c,d@e.f",
        "a@b.c\r\nBcc: d@e.f",
        "a@b.c d@e.f",
        "<a@b.c>",
        "x <a@b.c>",
        "a@b.c;d@e.f",
        "a%0d@b.c\n"
      ]
      for (const email of smuggled.slice(0, 6)) {
        assert.strictEqual((yield* ask("/auth/register/email/start", { email })).status, 422, JSON.stringify(email))
      }
      yield* ask("/auth/register/email/start", { email: "a%0d%0abcc@b.c" })
      const { mail, recipients } = yield* server.next
      assert.deepStrictEqual(recipients, ["a%0d%0abcc@b.c"])
      assert.deepStrictEqual(mail.to, [{ address: "a%0d%0abcc@b.c", name: "" }])
      assert.isUndefined(mail.bcc)
    }).pipe(withAuth({ email: mail(server.url) }))
  }).pipe(Effect.scoped)
)

it.effect(
  "a mail server that refuses does not change the response; the log has the reason, without address and code",
  () =>
    Effect.gen(function* () {
      const server = yield* startMailServer
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
      yield* Effect.gen(function* () {
        const refused = yield* ask("/auth/register/email/start", { email: "refused@example.com" })
        const taken = yield* ask("/auth/register/email/start", { email: "welcome@example.com" })
        assert.deepStrictEqual(Object.keys(refused.body), Object.keys(taken.body))
        assert.strictEqual(refused.status, 200)
        yield* server.next
      }).pipe(withAuth({ email: mail(server.url) }), Effect.provide(Logger.layer([logger])))
      const failures = logged.filter((line) => line.includes("could not be sent"))
      assert.deepStrictEqual(failures, ['["a code could not be sent by email: EENVELOPE 550"]'])
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Info"))
)

it.effect("nothing is sent unencrypted to a mail server that must offer STARTTLS and does not", () =>
  Effect.gen(function* () {
    const server = yield* startMailServer
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
    const email = { smtpUrl: Redacted.make(server.url), from: "codes@gateway.example.com", isTlsNeeded: true }
    yield* ask("/auth/register/email/start", { email: "anna@example.com" }).pipe(
      withAuth({ email }),
      Effect.provide(Logger.layer([logger]))
    )
    const failures = logged.filter((line) => line.includes("could not be sent"))
    assert.deepStrictEqual(failures, ['["a code could not be sent by email: ETLS 500"]'])
  }).pipe(Effect.scoped)
)

it.effect("a code arrives by SMS, and signs in", () =>
  Effect.gen(function* () {
    const server = yield* startSmsServer
    yield* Effect.gen(function* () {
      const { body } = yield* ask("/auth/register/sms/start", { phone: "+12025550123" })
      const sent = yield* server.next
      assert.deepInclude(sent, {
        path: "/2010-04-01/Accounts/AC17/Messages.json",
        to: "+12025550123",
        from: "+15005550006"
      })
      const code = /\d{6}/.exec(sent.body)?.[0]
      const verified = yield* ask("/auth/register/sms/verify", { challenge_id: body.challenge_id, code })
      assert.deepStrictEqual([verified.status, verified.body.user.phone], [200, "+12025550123"])
    }).pipe(withAuth({ sms: sms(server.url) }))
  }).pipe(Effect.scoped)
)

it.effect("no SMS is sent to a country that is not on the list, or to a number of none", () =>
  Effect.gen(function* () {
    const server = yield* startSmsServer
    yield* Effect.gen(function* () {
      const refused = [
        "+447400123456", // United Kingdom
        "+18765550123", // Jamaica, which shares the +1
        "+15550100000", // no country
        "+88213000000" // satellites
      ]
      for (const phone of refused) {
        const { body, status } = yield* ask("/auth/register/sms/start", { phone })
        assert.deepStrictEqual([status, body.detail?.[0]?.loc], [422, ["body", "phone"]], phone)
      }
      yield* ask("/auth/register/sms/start", { phone: "+4915123456789" })
      assert.strictEqual((yield* server.next).to, "+4915123456789")
    }).pipe(withAuth({ sms: sms(server.url, ["US", "DE"]) }))
  }).pipe(Effect.scoped)
)

it.effect("an SMS service that refuses does not change the response, and its text is not passed on", () =>
  Effect.gen(function* () {
    const server = yield* startSmsServer
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
    const start = ask("/auth/register/sms/start", { phone: "+12025550199" })
    const settings = [sms(server.url), sms(server.url, ["US"], "another-token"), sms("http://127.0.0.1:1")]
    for (const one of settings) {
      const { status } = yield* start.pipe(withAuth({ sms: one }), Effect.provide(Logger.layer([logger])))
      assert.strictEqual(status, 200)
    }
    assert.deepStrictEqual(
      logged.filter((line) => line.includes("could not be sent")),
      [
        '["a code could not be sent by sms: status 400"]',
        '["a code could not be sent by sms: status 401"]',
        '["a code could not be sent by sms: Unreachable"]'
      ]
    )
  }).pipe(Effect.scoped)
)

it.effect("production offers the configured methods, and has no mailbox", () =>
  Effect.gen(function* () {
    const server = yield* startMailServer
    yield* Effect.gen(function* () {
      assert.strictEqual((yield* ask("/auth/dev/mailbox")).status, 404)
      const { body, status } = yield* ask("/auth/register/sms/start", { phone: "+12025550123" })
      assert.deepStrictEqual(
        [status, body.detail[0].loc, body.detail[0].ctx],
        [422, ["path", "channel"], { expected: "'email'" }]
      )
      const verify = yield* ask("/auth/register/sms/verify", { challenge_id: "x", code: "1" })
      assert.strictEqual(verify.status, 422)
      assert.strictEqual((yield* ask("/auth/register/email/start", { email: "a@b.c" })).status, 200)
      yield* server.next
    }).pipe(withAuth({ email: mail(server.url) }, "production"))
  }).pipe(Effect.scoped)
)

it.effect("channels can be switched off", () =>
  Effect.gen(function* () {
    const { body, status } = yield* ask("/auth/register/email/start", { email: "a@b.c" })
    assert.deepStrictEqual(
      [status, body.detail[0].msg],
      [
        422,
        "No input is valid: this gateway has no channel for codes configured. Its operator can configure one under `auth.channels`, `auth.email` and `auth.sms` of the settings; GET /auth/methods lists the sign-in methods"
      ]
    )
    const provider = (yield* ask("/auth/oauth/google/start")).body
    assert.deepStrictEqual(provider.detail, [
      {
        loc: ["path", "provider"],
        msg: "No input is valid: this gateway has no OAuth provider configured. Its operator can configure one under `auth.oauth` of the settings; GET /auth/methods lists the sign-in methods",
        type: "literal_error",
        input: "google",
        ctx: { expected: "none" }
      }
    ])
    assert.strictEqual((yield* ask("/auth/dev/mailbox")).status, 404)
  }).pipe(withAuth({ channels: [] }))
)
