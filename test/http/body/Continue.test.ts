/** A client that asks with `Expect: 100-continue` whether it should send its body. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { openRaw } from "../../contract/client.ts"
import { until } from "../../contract/clock.ts"
import { ask, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const providers = [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }]

const head = (url: string, path: string, credential: string, bytes: number) =>
  `POST ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n${credential}\r\ncontent-type: application/json\r\n` +
  `expect: 100-continue\r\ncontent-length: ${bytes}\r\n\r\n`

it.effect("is told to go on once its headers are accepted, and may send its next request", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const socket = openRaw(url)
    const chat = JSON.stringify(ask("Hi"))
    socket.write(head(url, "/v1/chat/completions", `authorization: Bearer ${secret}`, chat.length))
    yield* until(() => socket.text().includes("HTTP/1.1 100 Continue\r\n\r\n"))
    assert.notInclude(socket.text(), "HTTP/1.1 200")
    socket.write(chat)
    yield* until(() => socket.text().includes(`"chat.completion"`))
    assert.match(socket.text(), /HTTP\/1\.1 200 /)
    const before = socket.text().length
    const key = JSON.stringify({ name: "another" })
    socket.write(head(url, "/v1/keys", `x-admin-key: ${adminKey}`, key.length))
    yield* until(() => socket.text().slice(before).includes("HTTP/1.1 100 Continue\r\n\r\n"))
    socket.write(key)
    yield* until(() => socket.text().includes(`"another"`))
    socket.hangUp()
  }).pipe(Effect.provide(TestApp.layer({ providers })))
)

it.effect("is refused without being told to send its body", () =>
  Effect.gen(function* () {
    const { url } = yield* TestApp
    const socket = openRaw(url)
    socket.write(head(url, "/v1/chat/completions", "authorization: Bearer sk-tg-unknown", 1_000_000))
    yield* until(() => socket.text().includes("}}"))
    assert.match(socket.text(), /^HTTP\/1\.1 401 /)
    assert.notInclude(socket.text(), "100 Continue")
    socket.hangUp()
  }).pipe(Effect.provide(TestApp.layer({ providers })))
)
