/** Price changes apply to the next request, not to running ones. */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { eventually, promptMarker, startGateway } from "../support/Gateway.ts"

/** Starts a process, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

const WORDS = 40

/** `usd`: price of a million completion tokens. */
const configAt = (usd: number) => ({
  providers: [
    {
      slug: "mock",
      dialect: "mock",
      models: [{ id: "mock/lorem", upstream: "lorem", pricing: { prompt: 0, completion: usd } }]
    }
  ]
})

it.live("a stream that runs while prices change costs what it cost when it began", () =>
  Effect.gen(function* () {
    const gateway = yield* startGateway({ config: configAt(1) })
    const { key } = yield* gateway.issueKey({ monthly_budget_usd: 1 })
    const body = {
      model: "mock/lorem",
      max_tokens: WORDS,
      stream: true,
      messages: [{ role: "user", content: promptMarker }]
    }
    const stream = yield* gateway.stream("/v1/chat/completions", {
      key,
      body: { ...body, metadata: { mock: { tokens_per_second: 10 } } }
    })
    yield* Effect.tryPromise(() => stream.until(`"content"`))
    writeFileSync(join(gateway.directory, "tollgate.yaml"), JSON.stringify(configAt(100)))
    yield* gateway.signal("SIGHUP")
    yield* eventually(
      Effect.filterOrFail(
        Effect.sync(() => gateway.output()),
        (said) => said.includes("the settings file was reloaded")
      ),
      20_000,
      "new prices"
    )
    const costOf = (text: string): number => {
      const usage = text.split("\n").findLast((line) => line.includes(`"usage":{`)) ?? ""
      return JSON.parse(usage.slice("data: ".length)).usage.estimated_cost_usd as number
    }
    assert.strictEqual(costOf(yield* Effect.promise(() => stream.ended)), (WORDS * 1) / 1e6)
    const next = yield* gateway.send("/v1/chat/completions", { key, body, headers: { "cache-control": "no-store" } })
    assert.strictEqual(costOf(next.text), (WORDS * 100) / 1e6)
    const { text } = yield* gateway.send("/v1/key", { key })
    assert.strictEqual(JSON.parse(text).usage.month_spent_usd, (WORDS * 101) / 1e6)
  })
)
