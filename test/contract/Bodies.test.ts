/**
 * 408 and 413: bodies that arrive too slowly or are too large, on bare sockets, refused before they
 * are complete.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
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
  message:
    "The body is larger than the 33554432 bytes that are accepted. The operator of this gateway can raise TOLLGATE_MAX_BODY_BYTES.",
  details: { limit_bytes: 33_554_432 }
})

it.effect("408: a client that sends its body too slowly", () =>
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

it.effect("413: a content length above the limit is refused before any byte of the body", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    const socket = openRaw(url)
    socket.write(head(url, secret, "content-length: 33554433"))
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
    for (let sent = 0; sent < 32; sent++) socket.write(mebibyte)
    yield* settle
    assert.strictEqual(socket.text(), "", "32 mebibytes are accepted")
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
    assert.deepStrictEqual(seen(yield* sized(33_554_433)), {
      status: 413,
      headers: { "content-type": "application/json", "x-request-id": "r-1" },
      body: tooLarge
    })
    assert.strictEqual((yield* sized(33_554_432)).status, 200)
  }).pipe(Effect.provide(app))
)

it.effect("413: the limit is a setting, and applies to the admin's endpoints too", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const answered = yield* send("/v1/keys", { body: { name: "x".repeat(200) }, headers: { "x-admin-key": adminKey } })
    assert.strictEqual(answered.status, 413)
    assert.deepStrictEqual(JSON.parse(answered.text).error.details, { limit_bytes: 100 })
  }).pipe(Effect.provide(TestApp.layer({ providers: [], settings: { maxBodyBytes: 100 } })))
)

it.effect("413: endpoints other than models have a smaller limit; those without authentication have the smallest", () =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const headers = { "x-admin-key": adminKey }
    const refused = (path: string, bytes: number) =>
      Effect.map(send(path, { body: { name: "x".repeat(bytes) }, headers }), ({ status, text }) => [
        status,
        JSON.parse(text).error.details.limit_bytes
      ])
    assert.deepStrictEqual(yield* refused("/v1/keys", 65_536), [413, 65_536])
    assert.deepStrictEqual(yield* refused("/auth/register/email/start", 16_384), [413, 16_384])
    assert.strictEqual((yield* refused("/auth/register/email/start", 16_000))[0], 422)
  }).pipe(Effect.provide(app))
)

it.effect("gzip, deflate and br are decoded; the encoding's name is case-insensitive", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const body = JSON.stringify(ask("Hi"))
    const zipped = { gzip: gzipSync, GZIP: gzipSync, deflate: deflateSync, br: brotliCompressSync }
    for (const [encoding, zip] of Object.entries(zipped)) {
      const answered = yield* chat(new Uint8Array(zip(body)), {
        key: secret,
        headers: { "content-type": "application/json", "content-encoding": encoding }
      })
      assert.strictEqual(answered.status, 200, encoding)
    }
  }).pipe(Effect.provide(app))
)

it.effect("415: an unknown encoding; 400: a body that does not match its encoding, or is truncated", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const sent = (encoding: string, body: string | Uint8Array) =>
      Effect.map(
        chat(body, {
          key: secret,
          headers: { "content-type": "application/json", "content-encoding": encoding, ...named().headers }
        }),
        ({ headers, status, text }) => [status, JSON.parse(text).error.code, headers.get("x-request-id")]
      )
    const body = JSON.stringify(ask("Hi"))
    for (const encoding of ["zstd", "gzip, gzip", "constructor", "__proto__"]) {
      assert.deepStrictEqual(yield* sent(encoding, body), [415, "unsupported_encoding", "r-1"], encoding)
    }
    assert.deepStrictEqual(yield* sent("gzip", body), [400, "invalid_encoding", "r-1"])
    assert.deepStrictEqual(yield* sent("br", body), [400, "invalid_encoding", "r-1"])
    const half = new Uint8Array(gzipSync(body)).slice(0, 40)
    assert.deepStrictEqual(yield* sent("gzip", half), [400, "invalid_encoding", "r-1"])
  }).pipe(Effect.provide(app))
)

it.effect("413: a compressed body is refused when it exceeds the limit uncompressed", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const [encoding, zip] of [
      ["gzip", gzipSync],
      ["br", brotliCompressSync]
    ] as const) {
      const bomb = new Uint8Array(zip(Buffer.alloc(100_000_000, " ")))
      const answered = yield* chat(bomb, {
        key: secret,
        headers: { "content-type": "application/json", "content-encoding": encoding }
      })
      assert.strictEqual(answered.status, 413, encoding)
    }
  }).pipe(Effect.provide(app))
)

it.effect("400: a body that is not UTF-8", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const latin = Buffer.from(JSON.stringify(ask("Grüße")), "latin1")
    const answered = yield* chat(new Uint8Array(latin), {
      key: secret,
      headers: { "content-type": "application/json" }
    })
    assert.deepStrictEqual([answered.status, JSON.parse(answered.text).error.code], [400, "invalid_encoding"])
  }).pipe(Effect.provide(app))
)

it.effect("422: a body with too many values or too much depth is refused before it is complete", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const [start, error] of [
      [`[${"1,".repeat(500_000)}`, "more than 500000 values"],
      ["[".repeat(129), "nested deeper than 128 levels"]
    ] as const) {
      const socket = openRaw(url)
      socket.write(`${head(url, secret, "content-length: 20000000")}${start}`)
      yield* until(() => socket.text().includes("}}"))
      assert.isTrue(socket.text().startsWith("HTTP/1.1 422 "))
      assert.include(socket.text(), error)
      socket.hangUp()
    }
  }).pipe(Effect.provide(app))
)

it.effect("a key without the scope is refused before its body is read", () =>
  Effect.gen(function* () {
    const { issueKey, url } = yield* TestApp
    const { secret } = yield* issueKey({ scopes: ["models:read"] })
    for (const path of ["/v1/chat/completions", "/v1/embeddings", "/v1/route/preview", "/v1/privacy/preview"]) {
      const socket = openRaw(url)
      socket.write(head(url, secret, "content-length: 2000000").replace("/v1/chat/completions", path))
      yield* until(() => socket.text().includes("}}"))
      assert.isTrue(socket.text().startsWith("HTTP/1.1 403 "), path)
      socket.hangUp()
    }
  }).pipe(Effect.provide(app))
)

it.effect("a body with hundreds of thousands of faults gets a small response with the first of them", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const ones = "1,".repeat(400_000)
    for (const [path, body] of [
      ["/v1/chat/completions", `{"model":"m","temperature":9,"messages":[${ones}1]}`],
      ["/v1/route/preview", `{"model":"m","temperature":9,"messages":[${ones}1]}`],
      ["/v1/embeddings", `{"model":1,"input":[${ones.replaceAll("1", "true")}true]}`],
      ["/v1/privacy/preview", `{"mode":1,"messages":[${ones}1]}`]
    ] as const) {
      const { status, text } = yield* send(path, {
        body,
        key: secret,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(status, 422, path)
      assert.isBelow(text.length, 100_000, path)
      const { detail } = JSON.parse(text) as {
        readonly detail: ReadonlyArray<{ readonly loc: ReadonlyArray<unknown> }>
      }
      assert.isAtLeast(detail.length, 2, path)
    }
  }).pipe(Effect.provide(app))
)

it.effect("a fault deep in a long list is found and reported alone", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { secret } = yield* issueKey()
    const good = { role: "user", content: "Hi" }
    const messages = [...Array.from({ length: 5_000 }, () => good), { role: "robot", content: "Hi" }]
    const { status, text } = yield* chat({ model: "test/small", messages }, { key: secret })
    assert.strictEqual(status, 422)
    assert.deepStrictEqual(
      JSON.parse(text).detail.map(({ loc }: { readonly loc: ReadonlyArray<unknown> }) => loc),
      [["body", "messages", 5_000, "role"]]
    )
  }).pipe(Effect.provide(app))
)
