/** The limits that all keys of an owner share, as seen by clients. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiKeys } from "../../src/gateway/keys/ApiKeys.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

it.effect("many keys of an owner have the limits of one, and a new key refills nothing", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const accounts = yield* ApiKeys
    const asked = Effect.gen(function* () {
      const { id, secret } = yield* issueKey({ tier: "free", ownerId: "usr_1" })
      const answered = yield* chat(ask("Hi"), { key: secret, headers: { "cache-control": "no-store" } })
      yield* accounts.revoke(id)
      return answered
    })
    const all = yield* Effect.forEach(Array.from({ length: 21 }), () => asked)
    assert.deepStrictEqual(
      all.map(({ headers, status }) => [status, headers.get("x-ratelimit-remaining-requests")]),
      [...Array.from({ length: 20 }, (_, at) => [200, String(19 - at)]), [429, "0"]]
    )
    const { error } = JSON.parse(all.at(-1)?.text ?? "")
    assert.strictEqual(
      error.message,
      "The limit of 20 requests per minute for all keys of this key's owner together is reached. Retry after the time in Retry-After."
    )
    assert.deepStrictEqual(error.details, { limit: "requests", allowed: 20, holder: "owner" })
    const { secret } = yield* issueKey({ tier: "free", ownerId: "usr_2" })
    assert.strictEqual((yield* chat(ask("Hi"), { key: secret })).status, 200)
  }).pipe(
    Effect.provide(TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] }))
  )
)
