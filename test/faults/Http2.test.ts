/**
 * Providers that speak HTTP/2, with a certificate of an authority that the process trusts. Calls
 * share a connection, an aborted call does not affect the others, and a broken connection is an
 * error.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Gateway, startGateway } from "../support/Gateway.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { selfSigned } from "../support/selfSigned.ts"
import { healthyText } from "./answers.ts"
import { type Mode, modes, read } from "./gateway.ts"
import { secureServer, type SecureServer } from "./secureServer.ts"

const identity = selfSigned()

const authorityFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-http2-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ),
  (directory) => {
    const file = join(directory, "authority.pem")
    writeFileSync(file, identity.cert)
    return file
  }
)

const models = ["steady", "silent", "halting"]
const timeouts = { first_byte_ms: 1_000, first_token_ms: 1_000, idle_ms: 1_000 }

/** The gateway as a process, and two providers at one address: one with HTTP/2, one without. */
class Deployment extends Context.Service<
  Deployment,
  { readonly gateway: Gateway; readonly key: string; readonly server: SecureServer }
>()("tollgate/test/Http2") {
  static readonly layer = Layer.effect(
    Deployment,
    Effect.gen(function* () {
      const server = yield* secureServer(identity)
      const provider = (slug: string, http2: boolean) => ({
        slug,
        dialect: "openai",
        base_url: server.url,
        http2,
        timeouts,
        models: models.map((model) => ({
          id: `${slug}/${model}`,
          upstream: model,
          pricing: { prompt: 1, completion: 2 }
        }))
      })
      const gateway = yield* startGateway({
        env: { NODE_EXTRA_CA_CERTS: yield* authorityFile, DATABASE_URL: Redacted.value(yield* freshDatabase) },
        config: {
          providers: [provider("two", true), provider("one", false)],
          routing: { retries: 0 },
          cache: { enabled: false }
        }
      })
      const { key } = yield* gateway.issueKey()
      return Deployment.of({ gateway, key, server })
    })
  )
}

const body = (model: string, mode: Mode) => ({
  model,
  stream: mode === "stream",
  messages: [{ role: "user", content: "Hello?" }]
})
const ask = (model: string, mode: Mode) =>
  Effect.gen(function* () {
    const { gateway, key } = yield* Deployment
    const { status, text } = yield* gateway.send("/v1/chat/completions", { key, body: body(model, mode) })
    return { status, ...read(text) }
  })

layer(Deployment.layer, { excludeTestServices: true, timeout: 120_000 })("a provider behind TLS", (it) => {
  it.effect.each(modes)("answers over HTTP/2, many calls on one connection (%s)", (mode) =>
    Effect.gen(function* () {
      const { server } = yield* Deployment
      const before = server.calls.length
      yield* ask("two/steady", mode)
      const replies = yield* Effect.all(
        Array.from({ length: 20 }, () => ask("two/steady", mode)),
        { concurrency: "unbounded" }
      )
      for (const reply of replies) {
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(reply.content, healthyText)
        assert.strictEqual(reply.usage?.total_tokens, 18)
      }
      const calls = server.calls.slice(before)
      assert.deepStrictEqual(new Set(calls.map(({ version }) => version)), new Set(["2.0"]))
      assert.lengthOf(new Set(calls.map(({ clientPort }) => clientPort)), 1)
    })
  )

  it.effect.each(modes)("is called over HTTP/1.1 by default (%s)", (mode) =>
    Effect.gen(function* () {
      const { server } = yield* Deployment
      const before = server.calls.length
      assert.strictEqual((yield* ask("one/steady", mode)).content, healthyText)
      assert.deepStrictEqual(
        server.calls.slice(before).map(({ version }) => version),
        ["1.1"]
      )
    })
  )

  it.effect("is silent: 504, its stream is aborted, the connection's other calls go on", () =>
    Effect.gen(function* () {
      const { server } = yield* Deployment
      const silent = yield* Effect.forkChild(ask("two/silent", "stream"), { startImmediately: true })
      const first = yield* server.called(({ model }) => model === "silent")
      assert.strictEqual((yield* ask("two/steady", "stream")).content, healthyText)
      assert.strictEqual((yield* Fiber.join(silent)).status, 504)
      yield* server.called((call) => call === first && call.endedAtMs !== null)
      assert.strictEqual((yield* ask("two/steady", "stream")).content, healthyText)
    })
  )

  it.effect(
    "loses its client in the middle of a stream: its stream is closed, the connection's other calls go on",
    () =>
      Effect.gen(function* () {
        const { gateway, key, server } = yield* Deployment
        const open = () => gateway.stream("/v1/chat/completions", { key, body: body("two/halting", "stream") })
        const leaving = yield* open()
        yield* Effect.promise(() => leaving.until("Hel"))
        const call = yield* server.called(({ endedAtMs, model }) => model === "halting" && endedAtMs === null)
        const leftAtMs = Date.now()
        leaving.leave()
        yield* server.called((each) => each === call && each.endedAtMs !== null)
        assert.isBelow((call.endedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs, 1_000)
        const reply = yield* ask("two/steady", "stream")
        assert.strictEqual(reply.content, healthyText)
        assert.strictEqual(server.calls.at(-1)?.clientPort, call.clientPort)
      })
  )

  it.effect("closes its connection in the middle of a stream: an error, and the next call gets a new one", () =>
    Effect.gen(function* () {
      const { gateway, key, server } = yield* Deployment
      const answer = yield* gateway.stream("/v1/chat/completions", { key, body: body("two/halting", "stream") })
      yield* Effect.promise(() => answer.until("Hel"))
      const cut = yield* server.called(({ endedAtMs, model }) => model === "halting" && endedAtMs === null)
      yield* server.cut
      const reply = read(yield* Effect.promise(() => answer.ended))
      assert.strictEqual(reply.content, "Hel")
      assert.deepStrictEqual(reply.finishReasons, ["error"])
      assert.strictEqual(reply.error?.type, "provider_error")
      assert.isTrue(reply.isDone)
      assert.strictEqual((yield* ask("two/steady", "stream")).content, healthyText)
      assert.notStrictEqual(server.calls.at(-1)?.clientPort, cut.clientPort)
    })
  )
})
