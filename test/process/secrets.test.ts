/** Secrets sent to every input: they appear in no output, metric or span of the process. */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { startGateway } from "../support/Gateway.ts"
import { startCollector } from "../support/otlp/Collector.ts"
import { messagesSurface, responsesSurface } from "../support/surfaces.ts"
import { chunkBody, sse } from "../support/upstream/Bodies.ts"
import { configFor, providerEnv, upstream } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const marker = "s3cr3t-of-the-client"
const collectorKey = "s3cr3t-of-the-operator"
const webhookSecret = "s3cr3t-of-both-sides"
const hidden = (place: string) => `${marker}-${place}`

it.live("what is printed, counted and traced holds nothing that a client wrote", () =>
  Effect.gen(function* () {
    const provider = yield* upstream
    yield* Effect.promise(() =>
      provider.script("small-2026", [
        { status: 400, json: { error: { message: hidden("refusal"), type: hidden("type"), code: hidden("code") } } },
        { status: 500, body: `it broke on ${hidden("prompt")}` },
        { body: `{"choices": ${hidden("malformed")}` },
        {
          chunks: [sse(chunkBody({ role: "assistant", content: hidden("delta") })), `data: {${hidden("event")}\n\n`]
        },
        { chunks: [sse(chunkBody({ role: "assistant", content: hidden("cut") }))], ending: "reset" },
        { status: 401, json: { error: { message: `no such key, asked for ${hidden("prompt")}` } } }
      ])
    )
    const collector = yield* startCollector()
    const webhook = yield* startCollector()
    const gateway = yield* startGateway({
      env: {
        ...providerEnv,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${collectorKey}`
      },
      secrets: [collectorKey, webhookSecret],
      config: configFor(provider.url, {
        routing: { retries: 0 },
        webhooks: [{ url: `${webhook.url}/hooks`, secret: webhookSecret, events: ["key.created"] }]
      })
    })
    const { key } = yield* gateway.issueKey({ name: hidden("name"), allowed_models: ["test/*"] })
    const ask = (body: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>> = {}) =>
      gateway.send(`/v1/chat/completions?api_key=${hidden("query")}`, {
        key,
        headers: { "user-agent": hidden("agent"), cookie: hidden("cookie"), "x-note": hidden("header"), ...headers },
        body: {
          model: "test/small",
          messages: [{ role: "user", content: hidden("prompt") }],
          user: hidden("user"),
          metadata: { note: hidden("metadata") },
          [hidden("member")]: hidden("value"),
          ...body
        }
      })
    const statuses: Array<number> = []
    const answered = [
      ask({}),
      ask({}),
      ask({}),
      ask({ stream: true }),
      ask({ stream: true }),
      ask({}),
      ask({ model: hidden("model") }),
      ask({ model: "test/small", models: [hidden("fallback")], provider: { order: [hidden("slug")] } }),
      ask({ messages: [{ role: hidden("role"), content: hidden("content") }] }),
      ask({}, { authorization: `Bearer ${hidden("bearer")}` }),
      ask({}, { "x-request-id": `${hidden("request id")} ` }),
      gateway.send("/v1/keys", { headers: { "x-admin-key": hidden("admin") } }),
      gateway.send(`/v1/generations/${hidden("generation")}`, { key }),
      gateway.send(`/${hidden("path")}/%zz`, { key, method: "PATCH" }),
      ...["/v1/chat/completions", "/v1/messages", "/v1/responses"].map((path) =>
        gateway.send(path, { key, body: hidden("no object") })
      ),
      ...[messagesSurface, responsesSurface].flatMap(({ body, path }) =>
        [{ text: hidden("asked") }, { text: hidden("streamed"), stream: true, system: hidden("system") }].map(
          (asking) =>
            gateway.send(path, {
              key,
              headers: { "anthropic-beta": hidden("beta") },
              body: { ...body(asking), [hidden("member")]: hidden("value") }
            })
        )
      )
    ]
    for (const answer of answered) statuses.push((yield* answer).status)
    assert.includeMembers(statuses, [200, 400, 401, 404, 422, 502])
    const metrics = yield* gateway.send("/metrics", { headers: { "x-admin-key": gateway.adminKey } })
    assert.include(metrics.text, "tollgate_requests_total")
    yield* webhook.until(() => webhook.headers().length > 0)
    yield* gateway.stop
    assert.include(gateway.output(), "/v1/chat/completions")
    for (const text of [gateway.output(), metrics.text, collector.raw()]) assert.notInclude(text, marker)
    // What a provider says of its own failure is for the operator, without what it repeats.
    for (const said of ["it broke on …", "no such key, asked for …"]) assert.include(gateway.output(), said)

    const calls = (yield* Effect.promise(() => provider.requests())).filter(({ model }) => model === "small-2026")
    const spans = collector.spans()
    for (const { headers } of calls) {
      const [, traceId, parentId, flags] = String(headers["traceparent"]).split("-")
      const span = spans.find(({ spanId }) => spanId === parentId)
      assert.deepStrictEqual([span?.name, span?.traceId, flags], ["chat small-2026", traceId, "01"])
    }
    assert.isAtLeast(spans.filter(({ kind }) => kind === "server").length, answered.length)
    const lines = gateway.output().split("\n")
    const logged = lines.flatMap((line) =>
      line.includes(`"message":"request"`) && !/"route":"\/(?:health|metrics)/.test(line) ? [line] : []
    )
    for (const line of logged) assert.match(line, /"trace_id":"[0-9a-f]{32}"/)
    assert.includeMembers([...collector.metrics()], ["tollgate.requests", "gen_ai.client.token.usage"])
    for (const headers of collector.headers()) assert.strictEqual(headers["authorization"], `Bearer ${collectorKey}`)
    const [told] = webhook.headers()
    assert.strictEqual(told?.["x-tollgate-event"], "key.created")
    assert.notInclude(webhook.raw(), key)
  })
)
