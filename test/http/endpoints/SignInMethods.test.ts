/** The sign-in methods that a page is shown. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { noSignIn } from "../../../src/settings/sections/SignIn.ts"
import { TestApp, type TestAppOptions } from "../../support/TestApp.ts"

const told = (settings: TestAppOptions["settings"] = {}) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { status, text } = yield* send("/auth/methods")
    assert.strictEqual(status, 200)
    return { body: JSON.parse(text), text }
  }).pipe(Effect.provide(TestApp.layer({ providers: [], settings })))

it.effect("in development: both channels, by the mailbox", () =>
  Effect.gen(function* () {
    const { body } = yield* told()
    assert.deepStrictEqual(body, { channels: ["email", "sms"], providers: [], development_mailbox: true })
  })
)

it.effect("configured otherwise: the names alone", () =>
  Effect.gen(function* () {
    const { body, text } = yield* told({
      environment: "production",
      auth: {
        ...noSignIn,
        oauth: { google: { clientId: "the-client", clientSecret: Redacted.make("sesame"), issuer: null } },
        email: { smtpUrl: Redacted.make("smtp://user:sesame@mail.example"), from: "codes@example.com" }
      }
    })
    assert.deepStrictEqual(body, { channels: ["email"], providers: ["google"], development_mailbox: false })
    assert.notInclude(text, "the-client")
  })
)
