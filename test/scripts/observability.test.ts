/**
 * The profile `observability`: what its containers may do, that its files agree with each other,
 * and that every metric and label that a dashboard or an alert names is one that a gateway shows.
 * Where there is a promtool, the alerts are tried on made-up series, and the queries on what a
 * gateway shows.
 */
import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import * as Yaml from "effect/encoding/Yaml"
import { TestClock } from "effect/testing"
import { Events, eventTypes } from "../../src/domain/Events.ts"
import { registerProcessMetrics } from "../../src/observability/ProcessMetrics.ts"
import { Outbound } from "../../src/providers/transport/Outbound.ts"
import { gaugePools } from "../../src/providers/transport/PoolGauges.ts"
import { ServerFault } from "../../src/providers/Provider.ts"
import { defaultSettings } from "../../src/Settings.ts"
import { DeliveryQueue } from "../../src/store/webhooks/DeliveryQueue.ts"
import * as Webhooks from "../../src/webhooks/Webhooks.ts"
import { ask, delta, end, finish, helloReply } from "../contract/wire.ts"
import { TestApp } from "../support/TestApp.ts"
import { findsSeries, isPromtoolThere, promtool } from "./promtool.ts"

const folder = "deploy/observability"
const read = (file: string): string => readFileSync(`${folder}/${file}`, "utf8")

const Strings = Schema.Array(Schema.String)
const Service = Schema.Struct({
  image: Schema.String,
  profiles: Strings,
  user: Schema.String,
  environment: Schema.Record(Schema.String, Schema.String),
  ports: Schema.optional(Strings),
  networks: Strings,
  volumes: Strings,
  read_only: Schema.Literal(true),
  cap_drop: Schema.Tuple([Schema.Literal("ALL")]),
  security_opt: Schema.Tuple([Schema.Literal("no-new-privileges:true")])
})
const Compose = Schema.Struct({
  services: Schema.Struct({
    collector: Service,
    tempo: Service,
    prometheus: Service,
    grafana: Service,
    gateway: Schema.Struct({ environment: Schema.Record(Schema.String, Schema.NullOr(Schema.String)) })
  })
})
const compose = Yaml.parse(readFileSync("docker-compose.yml", "utf8").replaceAll(/!(?:reset|override) /g, ""))
const { gateway, ...services } = Schema.decodeUnknownSync(Compose)(compose).services

const Rule = Schema.Struct({
  alert: Schema.String,
  expr: Schema.String,
  labels: Schema.Struct({ severity: Schema.Literals(["page", "ticket"]) }),
  annotations: Schema.Struct({ summary: Schema.String })
})
const Rules = Schema.Struct({ groups: Schema.Array(Schema.Struct({ name: Schema.String, rules: Schema.Array(Rule) })) })
const rules = Schema.decodeUnknownSync(Rules)(Yaml.parse(read("alerts.yaml"))).groups.flatMap((group) => group.rules)

const Datasources = Schema.Struct({
  datasources: Schema.Array(Schema.Struct({ uid: Schema.String, type: Schema.String, url: Schema.String }))
})
const Source = Schema.Struct({ uid: Schema.String })
const Panel = Schema.Struct({
  id: Schema.Finite,
  title: Schema.String,
  datasource: Schema.optional(Source),
  targets: Schema.optional(Schema.Array(Schema.Struct({ expr: Schema.String, datasource: Source })))
})
const Dashboard = Schema.Struct({ uid: Schema.String, panels: Schema.Array(Panel) })
const { panels } = Schema.decodeUnknownSync(Schema.fromJsonString(Dashboard))(read("grafana/tollgate.json"))
const targets = panels.flatMap((panel) => panel.targets ?? [])
const expressions = [...rules, ...targets].map(({ expr }) => expr)

describe("its containers", () => {
  for (const [name, { image, ports, profiles, volumes }] of Object.entries(services)) {
    it(`${name} has no privileges, a pinned image, and mounts files that exist`, () => {
      assert.deepStrictEqual(profiles, ["observability"])
      assert.match(image, /:v?\d+\.\d+\.\d+$/)
      for (const volume of volumes.filter((each) => each.startsWith("./"))) {
        assert.isTrue(existsSync(volume.split(":")[0] ?? ""), volume)
        assert.match(volume, /:ro$/)
      }
      if (name !== "grafana") assert.isUndefined(ports)
    })
  }

  it("show Grafana alone, to this machine alone, to look and not to change; no password is kept", () => {
    assert.deepStrictEqual(services.grafana.ports, ["${TOLLGATE_PUBLISH_GRAFANA:-127.0.0.1:3000}:3000"])
    assert.include(services.grafana.environment, {
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: "true",
      GF_AUTH_BASIC_ENABLED: "false",
      GF_AUTH_ANONYMOUS_ORG_ROLE: "Viewer"
    })
    for (const { environment } of Object.values(services))
      assert.notInclude(Object.keys(environment).join(), "PASSWORD")
  })

  it("find each other: the port of the metrics, the addresses of the stores, the names of the sources", () => {
    const port = gateway.environment["TOLLGATE_ADMIN_PORT"]
    assert.include(read("prometheus.yaml"), `names: [gateway, several], type: A, port: ${port}`)
    assert.include(read("collector.yaml"), "endpoint: tempo:4317")
    assert.include(read("tempo.yaml"), '"0.0.0.0:4317"')
    const { datasources } = Schema.decodeUnknownSync(Datasources)(Yaml.parse(read("grafana/datasources.yaml")))
    assert.deepStrictEqual(datasources, [
      { uid: "prometheus", type: "prometheus", url: "http://prometheus:9090" },
      { uid: "tempo", type: "tempo", url: "http://tempo:3200" }
    ])
    for (const { datasource } of targets) assert.strictEqual(datasource.uid, "prometheus")
  })
})

describe("its alerts and its dashboard", () => {
  it("have names and numbers of their own", () => {
    for (const names of [rules.map(({ alert }) => alert), panels.map(({ id }) => id)]) {
      assert.strictEqual(new Set<string | number>(names).size, names.length)
    }
    assert.includeMembers(
      rules.map(({ alert }) => alert),
      ["TollgateErrorsBurnFast", "TollgateLedgerLags", "TollgateCircuitOpen", "TollgateBudgetsExhausted"]
    )
  })

  it.effect("ask for metrics and labels that a gateway shows", () =>
    Effect.gen(function* () {
      const shown = samplesOf(yield* exposition)
      assert.isAbove(shown.size, 20)
      assert.isAbove(expressions.length, 25)
      for (const expression of expressions) {
        const { labels, names } = askedBy(expression)
        assert.isNotEmpty(names, expression)
        const known = new Set(["job", "instance"])
        for (const name of names) {
          assert.isTrue(shown.has(name), `${name} in ${expression}`)
          for (const label of shown.get(name) ?? []) known.add(label)
        }
        for (const label of labels) assert.isTrue(known.has(label), `${label} in ${expression}`)
      }
    }).pipe(Effect.provide(app))
  )

  it("a query of something else would be noticed", () => {
    assert.deepStrictEqual(askedBy('sum by (le, a) (rate(x_total{b=~"y{1}", c!="z"}[$__rate_interval])) * 3600 > w'), {
      names: ["x_total", "w"],
      labels: ["b", "c", "le", "a"]
    })
  })

  describe.skipIf(!isPromtoolThere)(
    "as Prometheus sees them (skipped without promtool, of Debian's prometheus)",
    () => {
      it("alerts go off when they should", () => {
        const { said, status } = promtool(["test", "rules", `${folder}/alerts.test.yaml`])
        assert.strictEqual(status, 0, said)
      })

      it.effect("what a gateway shows can be read, and every query of the dashboard finds something in it", () =>
        Effect.gen(function* () {
          const shown = yield* exposition
          const { said, status } = promtool(["check", "metrics"], shown)
          assert.strictEqual(status, 0, said)
          const found = findsSeries(
            shown,
            targets.map(({ expr }) => expr)
          )
          assert.strictEqual(found.status, 0, found.said)
          assert.notStrictEqual(findsSeries(shown, ["sum(tollgate_no_such_metric)"]).status, 0)
        }).pipe(Effect.provide(app))
      )
    }
  )
})

const app = TestApp.layer({
  providers: [
    { slug: "alpha", models: { "test/small": { failure: new ServerFault({ status: 500, retryAfterMs: null }) } } },
    {
      slug: "beta",
      models: {
        "test/small": {
          reply: helloReply,
          events: [delta({ content: "Hel" }), delta({ content: "lo" }), finish(), end]
        }
      }
    }
  ],
  settings: { routing: { ...defaultSettings.routing, retries: 0 } }
})

/**
 * The metrics of a gateway after one request of each kind and a webhook event, with process
 * metrics.
 */
const exposition = Effect.gen(function* () {
  const { adminKey, chat, issueKey, send } = yield* TestApp
  yield* registerProcessMetrics
  yield* gaugePools(new Map())
  const { secret: key } = yield* issueKey()
  const order = { provider: { order: ["alpha"] } }
  yield* chat(ask("Hi", order), { key })
  yield* chat(ask("Hi", order), { key })
  yield* chat(ask("Hello", { stream: true }), { key })
  yield* chat(ask("Hi"), { key: (yield* issueKey({ monthlyBudgetNano: 0 })).secret })
  const outbound = Layer.succeed(Outbound, { call: () => Effect.succeed({ status: 200, headers: {}, text: "" }) })
  const hook = { url: "https://hooks.example.com/a", secret: Redacted.make("s".repeat(16)), events: eventTypes }
  yield* Effect.flatMap(Events, ({ publish }) => publish("key.created", {})).pipe(
    Effect.andThen(TestClock.adjust("1 second")),
    Effect.provide(Layer.provide(Webhooks.layer([hook]), DeliveryQueue.layerMemory()).pipe(Layer.provide(outbound)))
  )
  return (yield* send("/metrics", { headers: { "x-admin-key": adminKey } })).text
})

/** The samples of an exposition: each name with its labels. */
const samplesOf = (text: string): ReadonlyMap<string, ReadonlySet<string>> => {
  const samples = new Map<string, Set<string>>([["up", new Set()]])
  for (const line of text.split("\n")) {
    const [, name = "", inner = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === "") continue
    const labels = samples.get(name) ?? new Set()
    for (const [, label = ""] of inner.matchAll(/(\w+)="/g)) labels.add(label)
    samples.set(name, labels)
  }
  return samples
}

/** The metrics and labels in a PromQL expression. */
const askedBy = (
  expression: string
): { readonly names: ReadonlyArray<string>; readonly labels: ReadonlyArray<string> } => {
  const withoutTexts = expression.replaceAll(/"[^"]*"/g, '""').replaceAll("$__rate_interval", "5m")
  const labels: Array<string> = []
  const keep = (pattern: RegExp) => (text: string) =>
    text.replaceAll(pattern, (_, inner: string) => {
      labels.push(...(inner.match(/[a-z_]\w*/g) ?? []))
      return " "
    })
  const bare = keep(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)(keep(/\{([^}]*)\}/g)(withoutTexts)).replaceAll(
    /\[[^\]]*\]/g,
    " "
  )
  const names = [...bare.matchAll(/\b([a-z_]\w*)\b(?!\s*\()/g)].map(([, name = ""]) => name)
  const words = new Set(["and", "or", "unless", "bool", "sum", "max", "min", "by"])
  return { names: names.filter((name) => !words.has(name)), labels }
}
