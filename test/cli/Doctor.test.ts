/**
 * The commands that need no gateway or run one: check, doctor and start, and the single checks of
 * the doctor.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { clockFinding } from "../../src/cli/doctor/Finding.ts"
import { checkDataDirectory, checkNode } from "../../src/cli/doctor/MachineCheck.ts"
import { checkProvider } from "../../src/cli/doctor/ProviderCheck.ts"
import { type ProviderConfig } from "../../src/domain/Catalog.ts"
import { mockProvider } from "../../src/providers/presets/Mock.ts"
import { probePostgres, probeRedis } from "../../src/store/sql/Connectivity.ts"
import { temporaryDirectory } from "../support/Gateway.ts"
import { startUpstream } from "../support/upstream/Upstream.ts"
import { startLine } from "./line.ts"

/** Starts processes, on a machine that may be busy. */
const SLOW_MACHINE_MS = 120_000

describe("a look", () => {
  it.live("at a Postgres and a Redis tells version and clock, or why there is none", () =>
    Effect.gen(function* () {
      const before = Date.now()
      for (const look of [
        probePostgres(Redacted.make(inject("postgresUrl"))),
        probeRedis(Redacted.make(inject("redisUrl")))
      ]) {
        const { clockMs, version } = yield* look
        assert.match(version, /^\d+\.\d+/)
        assert.closeTo(clockMs, before, 30_000)
      }
      const secret = "nobody-may-see"
      for (const look of [
        probePostgres(Redacted.make(`postgres://u:${secret}@127.0.0.1:1/x`)),
        probeRedis(Redacted.make(`redis://u:${secret}@127.0.0.1:1`))
      ]) {
        const { message } = yield* Effect.flip(look)
        assert.include(message, "ECONNREFUSED")
        assert.notInclude(message, secret)
      }
    })
  )

  it.live("at a provider tells whether it takes the key", () =>
    Effect.gen(function* () {
      const { origin, requests, script, stop } = yield* Effect.acquireRelease(
        Effect.promise(startUpstream),
        ({ stop }) => Effect.promise(stop)
      )
      const provider: ProviderConfig = {
        ...mockProvider,
        slug: "alpha",
        dialect: "openai",
        baseUrl: `${origin}/v1`,
        apiKey: Redacted.make("sk-alpha"),
        auth: { type: "bearer" },
        query: { "api-version": "1" }
      }
      const findings = (changes: Partial<ProviderConfig> = {}) => checkProvider({ ...provider, ...changes })
      const look = (changes: Partial<ProviderConfig> = {}) =>
        Effect.map(findings(changes), ([finding]) => finding ?? assert.fail("found nothing"))
      yield* Effect.promise(() => script("", { json: { data: [] } }))
      assert.deepInclude(yield* look(), { part: "provider alpha", status: "ok" })
      const [asked] = yield* Effect.promise(requests)
      assert.strictEqual(asked?.path, "/v1/models?api-version=1")
      assert.strictEqual(asked?.headers["authorization"], "Bearer sk-alpha")

      yield* Effect.promise(() => script("", { status: 401, json: {} }))
      const refused = yield* look()
      assert.strictEqual(refused.status, "failed")
      assert.match(refused.found, /rejects the key \(status 401\)/)
      // Without a list of models the key is not sent, and a 401 proves nothing.
      assert.strictEqual((yield* look({ dialect: "anthropic" })).status, "ok")
      assert.isUndefined((yield* Effect.promise(requests)).at(-1)?.headers["authorization"])

      yield* Effect.promise(() => script("", [{ json: { data: [] } }, { status: 401, json: {} }]))
      const keys = yield* findings({ apiKeys: [Redacted.make("sk-one"), Redacted.make("sk-two")] })
      assert.deepStrictEqual(
        keys.map(({ part, status }) => [part, status]),
        [
          ["provider alpha, key 1", "ok"],
          ["provider alpha, key 2", "failed"]
        ]
      )
      const sent = (yield* Effect.promise(requests)).slice(-2).map(({ headers }) => headers["authorization"])
      assert.deepStrictEqual(sent, ["Bearer sk-one", "Bearer sk-two"])

      yield* Effect.promise(() => script("", { status: 503, json: {} }))
      assert.strictEqual((yield* look()).status, "warning")
      assert.strictEqual((yield* look({ dialect: "mock" })).status, "warning")
      yield* Effect.promise(stop)
      assert.match((yield* look()).found, /ECONNREFUSED/)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.effect("at this machine warns of an open directory, an old Node and a clock that is off", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      assert.strictEqual((yield* checkDataDirectory(join(directory, "new"))).status, "ok")
      assert.strictEqual((yield* checkDataDirectory(directory)).status, "ok")
      chmodSync(directory, 0o755)
      assert.strictEqual((yield* checkDataDirectory(directory)).remedy, `chmod 700 ${directory}`)
      assert.strictEqual((yield* checkDataDirectory(process.execPath)).status, "failed")
      assert.strictEqual(checkNode("20.20.2").status, "failed")
      assert.strictEqual(clockFinding("Redis's", 1_900).status, "ok")
      assert.strictEqual(clockFinding("Redis's", -3_100).found, "Redis's is 3.1 s behind this machine")
    })
  )
})

describe("a machine", () => {
  it.live(
    "is checked, started, examined and stopped by the command line alone",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryDirectory
        const env = { TOLLGATE_PORT: "0", TOLLGATE_LOG_FORMAT: "json" }
        const wrong = yield* startLine(["check"], {
          cwd,
          env: { ...env, TOLLGATE_WORKERS: "none", TOLLGATE_PROT: "1" }
        })
        const gateway = yield* startLine(["start"], { cwd, env })
        const faults = yield* wrong.ended
        assert.strictEqual(faults.code, 1)
        assert.match(faults.stdout, /^2 settings are wrong:\n {2}TOLLGATE_WORKERS .*\n {2}TOLLGATE_PROT is unknown/)

        const url = yield* gateway.matched(/"message":"ready".*"url":"([^"]+)"/)
        const examined = yield* startLine(["doctor", "--json"], { cwd, env: { ...env, TOLLGATE_URL: url } })
        const { code, stdout } = yield* examined.ended
        assert.strictEqual(code, 0)
        const { findings } = JSON.parse(stdout) as {
          readonly findings: ReadonlyArray<{ readonly part: string; readonly status: string }>
        }
        assert.deepStrictEqual(
          findings.map(({ part, status }) => `${part} ${status}`),
          [
            "node ok",
            "settings ok",
            "database ok",
            "redis ok",
            "provider mock warning",
            "gateway ok",
            "version ok",
            "clock ok",
            "API key ok"
          ]
        )
        gateway.child.kill("SIGTERM")
        assert.strictEqual((yield* gateway.ended).code, 0)
      }),
    SLOW_MACHINE_MS
  )
})
