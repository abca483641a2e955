/** The transport against a real server in another process. Its time limits are real and small. */
import { gzipSync, brotliCompressSync } from "node:zlib"
import { createServer as createHttpServer } from "node:http"
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { afterAll, beforeAll } from "vitest"
import { type ProviderConfig } from "../../../src/domain/Catalog.ts"
import { type ChatEvent, type ChatRequest } from "../../../src/domain/Chat.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import {
  CredentialsRefused,
  Cut,
  Malformed,
  ServerFault,
  Throttled,
  TimedOut,
  TooLarge,
  Unreachable
} from "../../../src/providers/Provider.ts"
import { Transport } from "../../../src/providers/transport/Transport.ts"
import { chatBody, chunkBody, DONE, errorBody, sse, streamChunks } from "../../support/upstream/Bodies.ts"
import { type Behaviour, type Received } from "../../support/upstream/Behaviour.ts"
import { startUpstream, type Upstream } from "../../support/upstream/Upstream.ts"
import { config, offer } from "../replayedTransport.ts"

let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
})
afterAll(() => upstream.stop())

const timeouts = { connectMs: 1_000, firstByteMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000, totalMs: 5_000 }
const request: ChatRequest = { model: "test/small", messages: [{ role: "user", content: "hi" }], stream: false }

/** Scripts the model `name`, then calls it. */
const call = (name: string, behaviour: Behaviour | ReadonlyArray<Behaviour>, overrides: Partial<ProviderConfig> = {}) =>
  Effect.gen(function* () {
    yield* Effect.promise(() => upstream.script(name, behaviour))
    const provider = makeOpenAi(config({ baseUrl: upstream.url, timeouts, ...overrides }), yield* Transport)
    return { provider, call: { request, offer: { ...offer, upstream: name } } }
  })
const received = (name: string) =>
  Effect.map(
    Effect.promise(() => upstream.requests()),
    (requests) => requests.filter((each) => each.model === name)
  )
const until = (name: string, predicate: (request: Received) => boolean) =>
  Effect.promise(() => upstream.until((requests) => requests.some((each) => each.model === name && predicate(each))))
const reasonOf = <A>(effect: Effect.Effect<A, { readonly reason: unknown }, Transport>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)
const chat = (name: string, behaviour: Behaviour | ReadonlyArray<Behaviour>, overrides: Partial<ProviderConfig> = {}) =>
  Effect.flatMap(call(name, behaviour, overrides), ({ call, provider }) => provider.chat(call))
const streamed = (name: string, behaviour: Behaviour, overrides: Partial<ProviderConfig> = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const made = yield* call(name, behaviour, overrides)
      return yield* Stream.runCollect((yield* made.provider.chatStream(made.call)).stream)
    })
  )
const content = (events: ReadonlyArray<ChatEvent>) =>
  events
    .flatMap((event) => (event._tag === "Choices" ? event.choices.map(({ delta }) => delta.content ?? "") : []))
    .join("")

const live = it.layer(Transport.layer)

describe("Transport", () => {
  live("posts", (it) => {
    it.effect("credentials, headers and query where the config says", () =>
      Effect.gen(function* () {
        const apiKey = Redacted.make("k1")
        yield* chat("bearer", { json: chatBody() }, { apiKey, headers: { "x-version": "7" } })
        yield* chat(
          "header",
          { json: chatBody() },
          { apiKey, auth: { type: "header", name: "api-key" }, query: { "api-version": "v1" } }
        )
        const [bearer] = yield* received("bearer")
        assert.strictEqual(bearer?.method, "POST")
        assert.strictEqual(bearer?.path, "/v1/chat/completions")
        assert.strictEqual(bearer?.headers["authorization"], "Bearer k1")
        assert.strictEqual(bearer?.headers["x-version"], "7")
        assert.strictEqual(bearer?.headers["content-type"], "application/json")
        const [header] = yield* received("header")
        assert.strictEqual(header?.path, "/v1/chat/completions?api-version=v1")
        assert.strictEqual(header?.headers["api-key"], "k1")
        assert.isUndefined(header?.headers["authorization"])
      })
    )

    it.effect("and uses a connection again, after streams too", () =>
      Effect.gen(function* () {
        const ports = Effect.map(received("again"), (requests) => requests.map(({ clientPort }) => clientPort))
        const rounds = 10
        for (let round = 0; round < rounds; round++) {
          yield* streamed("again", { chunks: streamChunks(["a"]) })
          yield* chat("again", { json: chatBody() })
        }
        // A call that follows at once may find its predecessor's connection busy, and open another.
        assert.isBelow(new Set(yield* ports).size, rounds)
      }).pipe(Effect.provide(Layer.fresh(Transport.layer)))
    )

    it.effect("and undoes content encodings, whole and streamed", () =>
      Effect.gen(function* () {
        const body = Buffer.from(JSON.stringify(chatBody({ content: "packed" })))
        for (const [encoding, packed] of [
          ["gzip", gzipSync(body)],
          ["br", brotliCompressSync(body)]
        ] as const) {
          const headers = { "content-type": "application/json", "content-encoding": encoding }
          const reply = yield* chat(`whole-${encoding}`, { headers, body: packed })
          assert.strictEqual(reply.choices[0]?.message.content, "packed")
          const events = yield* streamed(`stream-${encoding}`, {
            headers: { "content-type": "text/event-stream", "content-encoding": encoding },
            body: (encoding === "gzip" ? gzipSync : brotliCompressSync)(streamChunks(["a", "b"]).join(""))
          })
          assert.strictEqual(content(events), "ab")
        }
        const headers = { "content-type": "application/json", "content-encoding": "gzip" }
        assert.instanceOf(yield* reasonOf(chat("no-gzip", { headers, body: "plain" })), Malformed)
        assert.instanceOf(
          yield* reasonOf(chat("odd", { headers: { "content-encoding": "odd" }, body: "x" })),
          Malformed
        )
      })
    )

    it.effect("and never follows a redirect", () =>
      Effect.gen(function* () {
        const reason = yield* reasonOf(
          chat("moved", { status: 307, headers: { location: `${upstream.url}/elsewhere` }, body: "" })
        )
        assert.deepStrictEqual(reason, new ServerFault({ status: 307, retryAfterMs: null }))
        assert.strictEqual((yield* received("moved")).length, 1)
      })
    )

    it.effect("and refuses a reply above 32 MiB, packed or not", () =>
      Effect.gen(function* () {
        const large = Buffer.alloc(33 * 1024 * 1024, " ")
        const type = { "content-type": "application/json" }
        assert.deepStrictEqual(
          yield* reasonOf(chat("large", { headers: type, body: large })),
          new TooLarge({ limitBytes: 32 * 1024 * 1024 })
        )
        const packed = { headers: { ...type, "content-encoding": "gzip" }, body: gzipSync(large) }
        assert.deepStrictEqual(yield* reasonOf(chat("bomb", packed)), new TooLarge({ limitBytes: 32 * 1024 * 1024 }))
      })
    )
  })

  live("fails", (it) => {
    it.effect("with the provider's refusal, on replies and streams", () =>
      Effect.gen(function* () {
        const throttled = {
          status: 429,
          headers: { "retry-after": "3", "content-type": "application/json" },
          json: errorBody("slow down")
        }
        assert.deepStrictEqual(
          yield* reasonOf(chat("throttled", throttled)),
          new Throttled({ status: 429, retryAfterMs: 3_000 })
        )
        assert.deepStrictEqual(
          yield* reasonOf(streamed("throttled-stream", throttled)),
          new Throttled({ status: 429, retryAfterMs: 3_000 })
        )
        assert.deepStrictEqual(
          yield* reasonOf(streamed("refused", { status: 401, body: "x".repeat(100_000) })),
          new CredentialsRefused({ status: 401 })
        )
      })
    )

    it.effect("as unreachable when nobody listens or the connection is reset before an answer", () =>
      Effect.gen(function* () {
        const port = yield* Effect.promise(freePort)
        assert.deepStrictEqual(
          yield* reasonOf(chat("nobody", {}, { baseUrl: `http://127.0.0.1:${port}` })),
          new Unreachable({ detail: "ECONNREFUSED" })
        )
        assert.instanceOf(yield* reasonOf(chat("reset", { ending: "reset_at_once" })), Unreachable)
        assert.instanceOf(yield* reasonOf(streamed("reset-stream", { ending: "reset_at_once" })), Unreachable)
      })
    )

    it.effect("not for want of connections: a thousand calls at once all reach the provider", () =>
      Effect.gen(function* () {
        const calls = 1_000
        const waiting: Array<() => void> = []
        // Answers only after all requests have arrived.
        const server = createHttpServer((request, response) => {
          request.resume()
          waiting.push(() => response.end(JSON.stringify(chatBody())))
          if (waiting.length === calls) for (const answer of waiting) answer()
        })
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", 2_048, () => resume(Effect.void))),
          () => Effect.sync(() => void server.close())
        )
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const baseUrl = `http://127.0.0.1:${port}`
        const patient = {
          connectMs: 20_000,
          firstByteMs: 20_000,
          firstTokenMs: 20_000,
          idleMs: 20_000,
          totalMs: 20_000
        }
        const provider = makeOpenAi(config({ baseUrl, timeouts: patient }), yield* Transport)
        const replies = yield* Effect.all(
          Array.from({ length: calls }, () => provider.chat({ request, offer })),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(replies, calls)
      })
    )

    it.effect("as malformed when the other side speaks no HTTP", () =>
      Effect.gen(function* () {
        const server = createServer((socket) =>
          socket
            .on("error", () => undefined)
            .resume()
            .end("SSH-2.0-OpenSSH_9.7\r\n")
        )
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
          () => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
        )
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        assert.instanceOf(yield* reasonOf(chat("ssh", {}, { baseUrl: `http://127.0.0.1:${port}` })), Malformed)
      })
    )

    it.effect("as cut when the connection breaks in a body", () =>
      Effect.gen(function* () {
        assert.instanceOf(yield* reasonOf(chat("half", { chunks: ['{"choices":['], ending: "reset" })), Cut)
        for (const ending of ["reset", "close"] as const) {
          const made = yield* call(`half-${ending}`, {
            chunks: [sse(chunkBody({ content: "Hel" })), { gate: `half-${ending}` }],
            ending
          })
          const events: Array<ChatEvent> = []
          const run = Effect.scoped(
            Effect.gen(function* () {
              const stream = yield* made.provider.chatStream(made.call)
              yield* Stream.runForEach(stream.stream, (event) =>
                Effect.andThen(
                  Effect.sync(() => events.push(event)),
                  Effect.promise(() => upstream.open(`half-${ending}`))
                )
              )
            })
          )
          assert.instanceOf(yield* reasonOf(run), Cut)
          assert.strictEqual(content(events), "Hel")
        }
      })
    )

    it.effect("when time runs out before the headers, the first token, between tokens", () =>
      Effect.gen(function* () {
        const after = (phase: TimedOut["phase"]) => new TimedOut({ phase })
        const with60 = (name: keyof typeof timeouts) => ({ timeouts: { ...timeouts, [name]: 60 } })
        const headersOnly: Behaviour = { chunks: [], ending: "hang" }
        assert.deepStrictEqual(
          yield* reasonOf(streamed("silent-stream", { ending: "silence" }, with60("firstByteMs"))),
          after("first_byte")
        )
        assert.deepStrictEqual(
          yield* reasonOf(streamed("headers-only", headersOnly, with60("firstTokenMs"))),
          after("first_token")
        )
        assert.deepStrictEqual(
          yield* reasonOf(streamed("headers-total", headersOnly, with60("totalMs"))),
          after("total")
        )
        const begun = [sse(chunkBody({ content: "a" }))]
        assert.deepStrictEqual(
          yield* reasonOf(streamed("idle", { chunks: begun, ending: "hang" }, with60("idleMs"))),
          after("idle")
        )
        yield* until("silent-stream", ({ closedEarly }) => closedEarly)
        yield* until("idle", ({ closedEarly }) => closedEarly)
      })
    )

    it.effect("a whole reply by its total limit alone, because it sends nothing until it is done", () =>
      Effect.gen(function* () {
        const quick = { timeouts: { ...timeouts, firstByteMs: 30, firstTokenMs: 30, idleMs: 30, totalMs: 200 } }
        const total = new TimedOut({ phase: "total" })
        assert.deepStrictEqual(yield* reasonOf(chat("silent", { ending: "silence" }, quick)), total)
        assert.deepStrictEqual(
          yield* reasonOf(chat("idle-body", { chunks: ['{"choices"'], ending: "hang" }, quick)),
          total
        )
        yield* until("silent", ({ closedEarly }) => closedEarly)
        const patient = { timeouts: { ...quick.timeouts, totalMs: 5_000 } }
        const reply = yield* chat("slow", { before: { waitMs: 150 }, json: chatBody({ content: "late" }) }, patient)
        assert.strictEqual(reply.choices[0]?.message.content, "late")
        const vectors = { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 1 } }
        const { call: asked, provider } = yield* call("slow-embed", { before: { waitMs: 150 }, json: vectors }, patient)
        const embedded = yield* provider.embed({ request: { model: "test/small", input: "a" }, offer: asked.offer })
        assert.deepStrictEqual(embedded.vectors, [[1, 2]])
      })
    )

    it.effect("no stream whose provider shows that it works: bytes of any kind end a silence", () =>
      Effect.gen(function* () {
        const quick = { timeouts: { ...timeouts, firstByteMs: 400, firstTokenMs: 400, idleMs: 400 } }
        const pings = Array.from({ length: 30 }, () => [": processing\n\n", { waitMs: 40 }]).flat()
        const [hel, lo, ...rest] = streamChunks(["Hel", "lo"])
        const chunks = [...pings, hel ?? "", ...pings, lo ?? "", ...rest]
        assert.strictEqual(content(yield* streamed("pings", { chunks }, quick)), "Hello")
      })
    )

    it.effect("when packets come but say nothing: no token, no event, no end", () =>
      Effect.gen(function* () {
        const quick = { timeouts: { ...timeouts, totalMs: 150 } }
        const dribble = (piece: string) => Array.from({ length: 200 }, () => [piece, { waitMs: 20 }]).flat()
        const role = sse(chunkBody({ role: "assistant", content: "" }))
        const reasons = yield* Effect.all(
          [
            reasonOf(streamed("no-token", { chunks: [role, ...dribble(": processing\n\n")] }, quick)),
            reasonOf(
              streamed("no-event", { chunks: [sse(chunkBody({ content: "a" })), ...dribble(": ...\n\n")] }, quick)
            ),
            reasonOf(chat("no-end", { headers: { "content-type": "application/json" }, chunks: dribble("\n") }, quick))
          ],
          { concurrency: 3 }
        )
        assert.deepStrictEqual(
          reasons.map((reason) => (reason instanceof TimedOut ? reason.phase : reason)),
          ["total", "total", "total"]
        )
      })
    )
  })

  live("gives up", (it) => {
    it.effect("a reply that nobody waits for: the upstream sees the connection close", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(chat("interrupted", { ending: "silence" }))
        yield* until("interrupted", () => true)
        yield* Fiber.interrupt(fiber)
        yield* until("interrupted", ({ closedEarly }) => closedEarly)
      })
    )

    it.effect("a stream whose scope closes, before its headers and after its first token", () =>
      Effect.gen(function* () {
        const early = yield* Effect.forkChild(streamed("early", { ending: "silence" }))
        yield* until("early", () => true)
        yield* Fiber.interrupt(early)
        yield* until("early", ({ closedEarly }) => closedEarly)

        const made = yield* call("left", { chunks: [sse(chunkBody({ content: "a" })), { gate: "left" }, DONE] })
        yield* Effect.scoped(
          Effect.flatMap(made.provider.chatStream(made.call), (stream) =>
            Stream.runCollect(Stream.take(stream.stream, 1))
          )
        )
        yield* until("left", ({ closedEarly }) => closedEarly)
      })
    )

    it.effect("whatever is under way when the layer closes", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.scoped(
          Effect.gen(function* () {
            const made = yield* call("closing", { ending: "silence" })
            const fiber = yield* Effect.forkDetach(made.provider.chat(made.call))
            yield* until("closing", () => true)
            return fiber
          }).pipe(Effect.provide(Layer.fresh(Transport.layer)))
        )
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.instanceOf(error.reason, Unreachable)
        yield* until("closing", ({ closedEarly }) => closedEarly)
      })
    )
  })

  live("lets", (it) => {
    it.effect("a reader slower than the upstream read everything", () =>
      Effect.gen(function* () {
        const piece = "x".repeat(16 * 1024)
        const pieces = 2_000
        const made = yield* call("flood", {
          chunks: [...Array.from({ length: pieces }, () => sse(chunkBody({ content: piece }))), ...streamChunks([])]
        })
        yield* Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* made.provider.chatStream(made.call)
            let read = 0
            yield* Stream.runForEach(stream.stream, (event) =>
              Effect.andThen(
                Effect.yieldNow,
                Effect.sync(() => {
                  if (event._tag === "Choices") read += (event.choices[0]?.delta.content ?? "").length
                })
              )
            )
            assert.strictEqual(read, pieces * piece.length)
          })
        )
      })
    )
  })
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
