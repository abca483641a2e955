/** 408 and 413: bodies that come too slowly or are too large, on bare sockets, refused before they are read to the end. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { openRaw } from "./client.ts"
import { advanceUntil, settle, until } from "./clock.ts"
import { ask, envelope, helloReply, named, seen } from "./wire.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

const head = (url: string, secret: string, ...headers: ReadonlyArray<string>) =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    `host: ${new URL(url).host}`,
    `authorization: Bearer ${secret}`,
    "content-type: application/json",
    "x-request-id: r-1",
    ...headers,
    "",
    ""
  ].join("\r\n")

const tooLarge = envelope({
  type: "payload_too_large",
  code: "payload_too_large",
  message: "The body is larger than the 10485760 bytes that are accepted.",
  details: { limit_bytes: 10_485_760 }
})

it.effect("408: a client that is too slow with its body", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const socket = openRaw(url)
    socket.write(`${head(url, secret, "content-length: 500")}{"model":`)
    yield* settle
    yield* advanceUntil(() => socket.text() !== "")
    yield* until(() => socket.text().includes("}}"))
    assert.isTrue(socket.text().startsWith("HTTP/1.1 408 Request Timeout\r\n"))
    assert.include(socket.text().toLowerCase(), "\r\nx-request-id: r-1\r\n")
    assert.include(socket.text().toLowerCase(), "\r\nconnection: close\r\n")
    assert.include(
      socket.text(),
      envelope({
        type: "request_timeout",
        code: "request_timeout",
        message: "The body did not arrive within 30000 ms.",
        retryable: true
      })
    )
    socket.hangUp()
  }).pipe(Effect.provide(app))
)

it.effect("413: a length above the limit is refused before any of the body", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const socket = openRaw(url)
    socket.write(head(url, secret, "content-length: 10485761"))
    yield* until(() => socket.text().includes("}}"))
    assert.isTrue(socket.text().startsWith("HTTP/1.1 413 "))
    assert.include(socket.text(), tooLarge)
    socket.hangUp()
  }).pipe(Effect.provide(app))
)

it.effect("413: a chunked body is refused at the limit, not at its end", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const socket = openRaw(url)
    socket.write(head(url, secret, "transfer-encoding: chunked"))
    const mebibyte = `100000\r\n${" ".repeat(1_048_576)}\r\n`
    for (let sent = 0; sent < 10; sent++) socket.write(mebibyte)
    yield* settle
    assert.strictEqual(socket.text(), "", "ten mebibytes are accepted")
    socket.write("1\r\n \r\n")
    yield* until(() => socket.text().includes("}}"))
    assert.isTrue(socket.text().startsWith("HTTP/1.1 413 "))
    assert.include(socket.text(), tooLarge)
    socket.hangUp()
  }).pipe(Effect.provide(app))
)

it.effect("413: one byte too many is refused, the limit itself is not", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const body = JSON.stringify(ask("Hi"))
    const sized = (bytes: number) =>
      chat(`${body}${" ".repeat(bytes - body.length)}`, {
        key: secret,
        headers: { "content-type": "application/json", ...named().headers }
      })
    assert.deepStrictEqual(seen(yield* sized(10_485_761)), {
      status: 413,
      headers: { "content-type": "application/json", "x-request-id": "r-1" },
      body: tooLarge
    })
    assert.strictEqual((yield* sized(10_485_760)).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("413: the limit is a setting, and binds the admin's endpoints too", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const answered = yield* send("/v1/keys", { body: { name: "x".repeat(200) }, headers: { "x-admin-key": adminKey } })
    assert.strictEqual(answered.status, 413)
    assert.deepStrictEqual(JSON.parse(answered.text).error.details, { limit_bytes: 100 })
  }).pipe(Effect.provide(TestApp.layer({ providers: [], settings: { maxBodyBytes: 100 } })))
)
