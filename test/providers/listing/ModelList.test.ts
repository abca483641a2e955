/** The call that tests a provider: where it goes, with which key, and what it makes of answers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { type AddressInfo } from "node:net"
import { defaultTimeouts, type ProviderConfig, unknownPolicy } from "../../../src/domain/Catalog.ts"
import { readModels } from "../../../src/providers/listing/ListedModel.ts"
import { listModels } from "../../../src/providers/listing/ModelList.ts"
import { Outbound } from "../../../src/providers/transport/Outbound.ts"

interface Answer {
  readonly status?: number
  readonly body?: string
}

/** A server that answers every request so, and records them. */
const serving = ({ body = '{"data":[{"id":"small"}]}', status = 200 }: Answer) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly origin: string
      readonly asked: Array<{ readonly url: string; readonly headers: IncomingHttpHeaders }>
      readonly close: () => void
    }>((resume) => {
      const asked: Array<{ readonly url: string; readonly headers: IncomingHttpHeaders }> = []
      const server = createServer((request, response) => {
        asked.push({ url: request.url ?? "", headers: request.headers })
        response.writeHead(status, { "content-type": "application/json" }).end(body)
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ origin: `http://127.0.0.1:${port}`, asked, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const configOf = (baseUrl: string, more: Partial<ProviderConfig> = {}): ProviderConfig => ({
  slug: "acme",
  name: "Acme",
  dialect: "openai",
  baseUrl,
  apiKey: Redacted.make("sk-acme"),
  auth: { type: "bearer" },
  headers: {},
  query: {},
  dataPolicy: unknownPolicy,
  timeouts: defaultTimeouts,
  models: [],
  ...more
})

const faultOf = (config: ProviderConfig, isListNeeded = true) =>
  listModels(config, isListNeeded).pipe(
    Effect.flip,
    Effect.map(({ message, reason }) => ({ reason, message })),
    Effect.provide(Outbound.layer)
  )

describe("the test of a provider", () => {
  const dialects: ReadonlyArray<readonly [Partial<ProviderConfig>, url: string, header: string, value: string]> = [
    [{}, "/v1/models", "authorization", "Bearer sk-acme"],
    [{ auth: { type: "header", name: "api-key" }, query: { v: "1" } }, "/v1/models?v=1", "api-key", "sk-acme"],
    [{ dialect: "anthropic" }, "/v1/models?limit=1000", "x-api-key", "sk-acme"],
    [{ dialect: "gemini" }, "/v1/models?pageSize=1000", "x-goog-api-key", "sk-acme"]
  ]
  for (const [more, url, header, value] of dialects) {
    it.live(`asks ${more.dialect ?? "openai"} for its models at ${url}`, () =>
      Effect.gen(function* () {
        const { asked, origin } = yield* serving({})
        const found = yield* listModels(configOf(`${origin}/v1`, more), true).pipe(Effect.provide(Outbound.layer))
        assert.deepInclude(found, { isKeyChecked: true })
        assert.deepStrictEqual(
          found.models.map(({ upstream }) => upstream),
          ["small"]
        )
        assert.deepStrictEqual(
          asked.map(({ headers, url }) => [url, headers[header]]),
          [[url, value]]
        )
      })
    )
  }

  const answers: ReadonlyArray<readonly [Answer, reason: string, words: string]> = [
    [{ status: 401, body: "sk-acme is wrong" }, "key_refused", "does not accept the key (status 401)"],
    [{ status: 400, body: '{"error":{"message":"API key not valid."}}' }, "key_refused", "does not accept the key"],
    [{ status: 404 }, "no_model_list", "Should the base URL end in /v1?"],
    [{ status: 429 }, "rate_limited", "Try again in a minute"],
    [{ status: 503 }, "server_error", "status 503"],
    [{ status: 302 }, "unreadable", "status 302"],
    [{ body: "<html>" }, "unreadable", "Check the base URL and the dialect"],
    [{ body: "x".repeat(2_000_000) }, "unreadable", "more than a list of models"]
  ]
  for (const [answer, reason, words] of answers) {
    it.live(`says ${reason} of ${answer.status ?? 200} ${(answer.body ?? "").slice(0, 20)}`, () =>
      Effect.gen(function* () {
        const { origin } = yield* serving(answer)
        const fault = yield* faultOf(configOf(origin))
        assert.strictEqual(fault.reason, reason)
        assert.include(fault.message, words)
        assert.notInclude(fault.message, "sk-acme")
      })
    )
  }

  it.live("calls no link-local address, and none that does not exist", () =>
    Effect.gen(function* () {
      for (const host of ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"]) {
        assert.strictEqual((yield* faultOf(configOf(`http://${host}/v1`))).reason, "address_refused", host)
      }
      assert.strictEqual((yield* faultOf(configOf("http://nowhere.invalid/v1"))).reason, "host_unknown")
    })
  )

  it.live("takes a vendor without a list as it is, but not as one that accepted the key", () =>
    Effect.gen(function* () {
      const { origin } = yield* serving({ status: 404 })
      const found = yield* listModels(configOf(origin), false).pipe(Effect.provide(Outbound.layer))
      assert.deepInclude(found, { models: [], isKeyChecked: false })
    })
  )
})

it("reads the lists of vendors, and leaves out what is strange", () => {
  const shown = (body: unknown) =>
    readModels(JSON.stringify(body))?.map(({ contextLength, pricing, upstream }) => [upstream, contextLength, pricing])
  assert.deepStrictEqual(shown({ models: [{ name: "models/gemini-2.5-pro", inputTokenLimit: 1_048_576 }] }), [
    ["gemini-2.5-pro", 1_048_576, null]
  ])
  assert.deepStrictEqual(
    shown([{ id: "meta/x", context_length: 8_192, pricing: { input: 0.18, output: 0.9, hourly: 0 } }]),
    [["meta/x", 8_192, { prompt: 0.18, completion: 0.9, cachedPrompt: null }]]
  )
  assert.deepStrictEqual(
    shown({
      data: [{ id: "a/b", pricing: { prompt: "0.00000015", completion: "-1" } }, { id: "\u0007" }, { id: 1 }, 2]
    }),
    [["a/b", null, null]]
  )
  for (const none of [{}, { data: {} }, "x", null]) assert.strictEqual(shown(none), undefined)
})
