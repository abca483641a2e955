/**
 * Providers that compress or frame their answers, or speak HTTP, in unusual ways: all of them are
 * understood.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { chatBody, streamChunks } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { assertFallback, assertWhole, healthyText } from "./answers.ts"
import { answering, behind, healthy, type Mode, modes, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

const types = { JSON: "application/json", stream: "text/event-stream" }
const bodies = {
  JSON: JSON.stringify(chatBody({ content: healthyText, usage: healthy })),
  stream: streamChunks(["Hello ", "from the ", "other side"], healthy).join("")
}
const packers = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, zstd: zstdCompressSync }

const packed = modes.flatMap((mode) =>
  Object.entries(packers).map(([encoding, pack]) => ({
    mode,
    encoding,
    does: {
      headers: { "content-type": types[mode], "content-encoding": encoding },
      body: pack(bodies[mode])
    }
  }))
)

/** A raw reply with its status line. */
const raw = (mode: Mode, head: ReadonlyArray<string>, body = bodies[mode]): Behaviour => ({
  raw: true,
  chunks: [[...head, `Content-Type: ${types[mode]}`, "", ""].join("\r\n"), body]
})
const hex = (text: string): string => Buffer.byteLength(text).toString(16)
const chunked = (text: string): string => {
  const pieces = text.match(/[^]{1,100}/g) ?? []
  return `${pieces.map((piece) => `${hex(piece)}\r\n${piece}\r\n`).join("")}0\r\n\r\n`
}
const framed: Readonly<Record<string, (mode: Mode) => Behaviour>> = {
  "HTTP/1.0 that ends with the connection": (mode) => raw(mode, ["HTTP/1.0 200 OK"]),
  "HTTP/1.0 with a length": (mode) =>
    raw(mode, ["HTTP/1.0 200 OK", `Content-Length: ${Buffer.byteLength(bodies[mode])}`, "Connection: close"]),
  "HTTP/1.1 that ends with the connection": (mode) => raw(mode, ["HTTP/1.1 200 OK", "Connection: close"]),
  chunked: (mode) => raw(mode, ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"], chunked(bodies[mode])),
  "with an early hint before it": (mode) =>
    raw(mode, [
      "HTTP/1.1 103 Early Hints",
      "Link: </a>; rel=preload",
      "",
      "HTTP/1.1 200 OK",
      `Content-Length: ${Buffer.byteLength(bodies[mode])}`
    ]),
  "without a reason phrase, its headers in odd cases": (mode) =>
    raw(mode, ["HTTP/1.1 200 ", `CONTENT-LENGTH:${Buffer.byteLength(bodies[mode])}`])
}
const frames = modes.flatMap((mode) => Object.entries(framed).map(([name, does]) => ({ mode, name, does: does(mode) })))

describe("compressed", () => {
  it.live.each(packed)("with $encoding ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does } })
      assertWhole(mode, yield* gateway.ask(mode), "alpha")
    })
  )

  it.live("with gzip, in a stream: a token does not wait for the next ones", () =>
    Effect.gen(function* () {
      const [first = "", second = "", ...rest] = streamChunks(["Hello ", "from the ", "other side"], healthy)
      const [begin, end] = yield* Effect.promise(() => flushed([first + second, rest.join("")]))
      const headers = { "content-type": types.stream, "content-encoding": "gzip" }
      const does = { headers, chunks: [begin, { gate: "packed" }, end] }
      const gateway = yield* behind(upstream(), { alpha: { does } })
      const answer = yield* Effect.promise(() => gateway.open("stream"))
      yield* Effect.promise(() => answer.until("Hello "))
      yield* Effect.promise(() => upstream().open("packed"))
      assertWhole("stream", yield* gateway.whole(answer), "alpha")
    })
  )

  const broken: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    "with an unknown encoding": { encoding: "rot13", body: bodies.JSON },
    "with gzip in the header only": { encoding: "gzip", body: bodies.JSON },
    "with gzip, and cut short": { encoding: "gzip", body: gzipSync(bodies.JSON).subarray(0, -20) }
  }
  it.live.each(modes.flatMap((mode) => Object.keys(broken).map((name) => ({ mode, name }))))(
    "$name: the fallback answers ($mode)",
    ({ mode, name }) =>
      Effect.gen(function* () {
        const { body, encoding } = broken[name] as { readonly body: string; readonly encoding: string }
        const headers = { "content-type": types[mode], "content-encoding": encoding }
        const gateway = yield* behind(upstream(), {
          alpha: { does: { headers, body } },
          beta: { does: answering(mode) }
        })
        assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: "malformed" })
      })
  )
})

describe("framed", () => {
  it.live.each(frames)("$name ($mode)", ({ does, mode }) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does } })
      assertWhole(mode, yield* gateway.ask(mode), "alpha")
    })
  )

  it.live.each(modes)("bytes that are not HTTP: the fallback answers (%s)", (mode) =>
    Effect.gen(function* () {
      const does: Behaviour = { raw: true, chunks: ["SSH-2.0-OpenSSH_9.7\r\n"] }
      const gateway = yield* behind(upstream(), { alpha: { does }, beta: { does: answering(mode) } })
      assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: "malformed" })
    })
  )

  it.live.each(modes)("an unrequested 100 Continue: the fallback answers (%s)", (mode) =>
    Effect.gen(function* () {
      const ok = `HTTP/1.1 200 OK\r\ncontent-type: ${types[mode]}\r\nconnection: close\r\n\r\n${bodies[mode]}`
      const does: Behaviour = { raw: true, chunks: ["HTTP/1.1 100 Continue\r\n\r\n", ok] }
      const gateway = yield* behind(upstream(), { alpha: { does }, beta: { does: answering(mode) } })
      assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: "unreachable" })
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )

  it.live.each(modes)("a redirect is not followed: the fallback answers, and the key is not sent on (%s)", (mode) =>
    Effect.gen(function* () {
      const away: Behaviour = { status: 307, headers: { location: `${upstream().url}/elsewhere` }, body: "" }
      const gateway = yield* behind(upstream(), { alpha: { does: away }, beta: { does: answering(mode) } })
      assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: "server_error", http_status: 307 })
      assert.lengthOf(yield* gateway.calls("alpha"), 1)
    })
  )
})

/** Pieces compressed into one gzip stream, each flushed at once. */
const flushed = async (pieces: readonly [string, string]): Promise<readonly [Buffer, Buffer]> => {
  const gzip = createGzip()
  const packed: Array<Buffer> = []
  gzip.on("data", (chunk: Buffer) => packed.push(chunk))
  const taken = (): Buffer => Buffer.concat(packed.splice(0))
  gzip.write(pieces[0])
  await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve))
  const begin = taken()
  const ended = new Promise((resolve) => gzip.once("end", resolve))
  gzip.end(pieces[1])
  await ended
  return [begin, taken()]
}
