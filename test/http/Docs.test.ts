/** The API page and the document behind it. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"

it.effect("/docs is a whole page, also when it is first asked for by two at once", () =>
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
