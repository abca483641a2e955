/**
 * Traces of personal data in a masking process: none in its output at the finest level, its
 * database or any file.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { startGateway, temporaryDirectory } from "../support/Gateway.ts"

const email = "ann.of.the.process.tests@example.com"
const secret = `ghp_${"q1Z2".repeat(9)}`

it.live(
  "values that were masked, previewed or refused are written nowhere",
  () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          const gateway = yield* startGateway({
            directory,
            config: { privacy: { mode: "mask" } },
            secrets: [email, secret]
          })
          const content = `Write to ${email} with ${secret}`
          const ask = (key: string, stream: boolean) =>
            gateway.send("/v1/chat/completions", {
              key,
              // Its reply is stored with the values, encrypted.
              headers: { "idempotency-key": `kept-${stream}` },
              body: { model: "mock/echo", stream, user: email, messages: [{ role: "user", content }] }
            })
          const { key } = yield* gateway.issueKey()
          assert.include((yield* ask(key, false)).text, content)
          const streamed = yield* ask(key, true)
          assert.strictEqual(streamed.status, 200)
          const again = yield* ask(key, false)
          assert.deepStrictEqual([again.headers["idempotent-replayed"], again.text.includes(content)], ["true", true])
          const blocking = yield* gateway.issueKey({ privacy: "block" })
          const refused = yield* ask(blocking.key, false)
          assert.strictEqual(refused.status, 403)
          const previewed = yield* gateway.send("/v1/privacy/preview", { key, body: { text: content } })
          assert.strictEqual(previewed.status, 200)
          for (const { text } of [refused, previewed]) {
            assert.notInclude(text, email)
            assert.notInclude(text, secret)
          }
          yield* gateway.stop
        })
      )
      const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      assert.isAbove(files.length, 10)
      for (const { name, parentPath } of files) {
        const bytes = readFileSync(join(parentPath, name))
        assert.isFalse(bytes.includes(email) || bytes.includes(secret), name)
      }
    }).pipe(Effect.scoped),
  120_000
)
