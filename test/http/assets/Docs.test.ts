/** The API page and its document. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { TestApp } from "../../support/TestApp.ts"

it.effect("/docs is complete, also when the first two requests are concurrent", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const [first, second] = yield* Effect.all([send("/docs"), send("/docs")], { concurrency: 2 })
    assert.strictEqual(first.status, 200)
    assert.match(first.headers.get("content-type") ?? "", /^text\/html/)
    assert.include(first.text, "<title>tollgate</title>")
    assert.include(first.text, "/v1/chat/completions")
    assert.notInclude(first.text, 'src="http', "nothing from elsewhere")
    assert.strictEqual(first.text, second.text)
    assert.strictEqual((yield* send("/docs/nowhere")).status, 404)
  }).pipe(Effect.provide(TestApp.layer()))
)

it.effect("/docs runs its own scripts only, is compressed once, and is not sent again to clients that have it", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const { headers, text } = yield* send("/docs", { headers: { "accept-encoding": "identity" } })
    const policy = headers.get("content-security-policy") ?? ""
    const scripts = Array.from(text.matchAll(/<script>([\s\S]*?)<\/script>/g), ([, script = ""]) => script)
    assert.lengthOf(scripts, 2)
    for (const script of scripts) {
      assert.include(policy, `'sha256-${createHash("sha256").update(script).digest("base64")}'`)
    }
    assert.include(policy, "default-src 'none'")
    assert.include(policy, "connect-src 'self'")
    assert.include(policy, "frame-ancestors 'none'")
    assert.notMatch(policy, /script-src[^;]*unsafe/)
    const zipped = yield* send("/docs", { headers: { "accept-encoding": "gzip" } })
    assert.strictEqual(zipped.headers.get("content-encoding"), "gzip")
    assert.isBelow(Number(zipped.headers.get("content-length")), 1_200_000)
    assert.strictEqual(zipped.text, text)
    for (const path of ["/docs", "/openapi.json"]) {
      const etag = (yield* send(path)).headers.get("etag") ?? ""
      assert.strictEqual((yield* send(path, { headers: { "if-none-match": etag } })).status, 304)
      assert.strictEqual((yield* send(path, { headers: { "if-none-match": '"other"' } })).status, 200)
    }
  }).pipe(Effect.provide(TestApp.layer()))
)
