/** The token of a start's one-time link, alone and over HTTP. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { ConsoleLink } from "../../../src/gateway/signin/ConsoleLink.ts"
import { noSignIn } from "../../../src/settings/sections/SignIn.ts"
import { type SentRequest, TestApp } from "../../support/TestApp.ts"

const issue = Effect.flatMap(ConsoleLink, ({ issue }) => Effect.map(issue, Redacted.value))
const redeem = (token: string) => Effect.flatMap(ConsoleLink, ({ redeem }) => redeem(token))

it.effect("works once, for ten minutes, and only the newest", () =>
  Effect.gen(function* () {
    const { isOffered } = yield* ConsoleLink
    assert.isFalse(yield* isOffered)
    const first = yield* issue
    assert.match(first, /^[\w-]{43}$/)
    assert.isFalse(yield* redeem(`${first}x`))
    assert.isTrue(yield* redeem(first))
    assert.isFalse(yield* redeem(first))
    assert.isTrue(yield* isOffered)

    const second = yield* issue
    yield* TestClock.adjust("599 seconds")
    assert.isTrue(yield* redeem(second))
    const third = yield* issue
    yield* TestClock.adjust("10 minutes")
    assert.isFalse(yield* redeem(third))

    const replaced = yield* issue
    const newest = yield* issue
    assert.isFalse(yield* redeem(replaced))
    assert.isTrue(yield* redeem(newest))
  }).pipe(Effect.provide(ConsoleLink.layer))
)

const exchange = (token: string, headers: SentRequest["headers"] = {}) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers: answered, status, text } = yield* send("/auth/dev/console", { body: { token }, headers })
    return { status, caching: answered.get("cache-control"), body: JSON.parse(text) }
  })

const trusting = { auth: { ...noSignIn, trustedProxies: ["127.0.0.0/8", "::1/128"] } }

it.effect("is exchanged for the admin key on this machine only, and is refused the second time", () =>
  Effect.gen(function* () {
    const { adminKey } = yield* TestApp
    assert.strictEqual((yield* exchange("none-was-issued")).body.error.code, "route_not_found")
    const token = yield* issue
    // A proxy's client, a foreign page and a wrong token do not use it up.
    assert.strictEqual((yield* exchange(token, { "x-forwarded-for": "203.0.113.7" })).status, 404)
    assert.strictEqual((yield* exchange(token, { "sec-fetch-site": "cross-site" })).status, 403)
    assert.strictEqual((yield* exchange("wrong")).body.error.code, "invalid_console_link")
    assert.deepStrictEqual(yield* exchange(token), { status: 200, caching: "no-store", body: { admin_key: adminKey } })
    const again = yield* exchange(token)
    assert.deepStrictEqual([again.status, again.body.error.code], [401, "invalid_console_link"])
    assert.notInclude(JSON.stringify(again), token)
  }).pipe(Effect.provide(TestApp.layer({ providers: [], settings: trusting })))
)
