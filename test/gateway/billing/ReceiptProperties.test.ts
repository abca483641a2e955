/**
 * Whatever way a request ends (fallbacks, hedged calls, broken and continued streams, clients that
 * leave, small budgets, cache hits), the attempts on its receipt add up to the bill, and their
 * times lie within the request.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { defaultTimeouts } from "../../../src/domain/Catalog.ts"
import { type Generation } from "../../../src/domain/Generation.ts"
import { CredentialsRefused, Cut, Rejected, ServerFault, Throttled } from "../../../src/providers/Provider.ts"
import { type Script } from "../../../src/testing/ScriptedProvider.ts"
import { GenerationStore } from "../../../src/store/ledger/GenerationStore.ts"
import { assertHolds } from "../../support/assertHolds.ts"
import { testSettings } from "../../support/testSettings.ts"
import { ending, piece, saying, stop } from "../scripts.ts"
import { gatewayOn, ran } from "../streams.ts"

const Count = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const Given = Schema.Struct({
  scripts: Schema.Array(
    Schema.Struct({
      kind: Schema.Literals(["answers", "answers", "cut", "cut", "fails", "throttled", "refuses", "rejects", "hangs"]),
      delayMs: Count(120),
      pieces: Count(6),
      reports: Schema.Boolean
    })
  ).check(Schema.isBetweenLength(1, 3)),
  stream: Schema.Boolean,
  hedges: Schema.Boolean,
  retries: Count(1),
  repeats: Schema.Boolean,
  isCapped: Schema.Boolean,
  budget: Count(60_000),
  markup: Schema.Literals([0, 0.2]),
  leavesAfterMs: Schema.NullOr(Count(200))
})
type Given = typeof Given.Type

const scriptOf = ({ delayMs, kind, pieces, reports }: Given["scripts"][number]): Script => {
  const usage = { promptTokens: 9, completionTokens: pieces + 1, cachedTokens: reports ? 3 : 0 }
  const written = Array.from({ length: pieces }, (_, at) => [piece(`word${at} `), 20]).flat()
  switch (kind) {
    case "answers":
      return {
        delayMs,
        reply: saying("some words of an answer", reports ? usage : null),
        events: [...written, piece("end"), stop, ending(reports ? usage : null)]
      }
    case "cut":
      return {
        delayMs,
        events: [piece("begun "), ...written, new Cut({ detail: "" })],
        reply: saying("whole"),
        ...(reports ? { promptUsage: { promptTokens: 11, completionTokens: 0, cachedTokens: 2 } } : {})
      }
    case "fails":
      return { delayMs, failure: new ServerFault({ status: 500, retryAfterMs: null }) }
    case "throttled":
      return { delayMs, failure: new Throttled({ status: 429, retryAfterMs: reports ? 50 : null }) }
    case "refuses":
      return { delayMs, failure: new CredentialsRefused({ status: 401 }) }
    case "rejects":
      return {
        delayMs,
        failure: new Rejected({ status: 400, message: "no", param: null, code: null, contextLength: false })
      }
    case "hangs":
      return { delayMs, hangs: true }
  }
}

/** What the cases have shown. */
const seen = new Set<string>()

const checked = (generation: Generation): void => {
  if (generation.cacheHit) seen.add("a cache hit")
  if (generation.cancelled) seen.add("a client that left")
  if (generation.fallbackUsed) seen.add("a fallback")
  if (generation.finishReason === "length" || generation.errorType === "budget_exceeded") seen.add("a small budget")
  if (generation.attempts.some(({ charge, status }) => charge !== undefined && status === "error"))
    seen.add("a continuation")
  if (generation.attempts.some(({ charge, status }) => charge !== undefined && status === "cancelled"))
    seen.add("a hedge")
  if (generation.errorType !== null && generation.cost.totalNano > 0) seen.add("a paid failure")
  assertHolds(generation)
}

it.effect.prop(
  "attempts add up to the bill, however a request ends",
  { given: Given },
  ({ given }) => {
    const scripts = Object.fromEntries(
      given.scripts.map((script, at) => [["alpha", "beta", "gamma"][at] ?? "", scriptOf(script)])
    )
    const { layer } = gatewayOn(scripts, {
      config: { timeouts: { ...defaultTimeouts, firstByteMs: 500, firstTokenMs: 500, idleMs: 500, totalMs: 1_000 } },
      settings: {
        markup: given.markup,
        routing: { ...testSettings.routing, retries: given.retries, hedgeAfterMs: given.hedges ? 30 : null }
      }
    })
    const asked = Effect.scoped(
      Effect.gen(function* () {
        const { completed } = yield* ran({
          request: { stream: given.stream, max_tokens: 50, temperature: 0 },
          key: { monthlyBudgetNano: given.isCapped ? given.budget : null }
        })
        if (completed._tag === "Stream") yield* Stream.runDrain(completed.events.stream)
      })
    )
    return Effect.gen(function* () {
      const store = yield* GenerationStore
      for (let time = 0; time <= (given.repeats ? 1 : 0); time++) {
        const fiber = yield* Effect.forkChild(Effect.exit(asked))
        if (given.leavesAfterMs !== null) {
          yield* TestClock.adjust(given.leavesAfterMs)
          // The interruption waits for what the request still does.
          yield* Effect.forkChild(Fiber.interrupt(fiber))
        }
        // Longer than all time limits together.
        for (let step = 0; step < 20; step++) yield* TestClock.adjust("1 second")
        yield* Fiber.await(fiber)
      }
      const { generations } = yield* store.list({ keyId: null, limit: 100, cursor: null })
      generations.forEach(checked)
    }).pipe(Effect.provide(layer))
  },
  { arbitrary: { runs: 300 } }
)

it("the cases above were of every kind", () => {
  assert.includeMembers(
    [...seen],
    ["a cache hit", "a client that left", "a fallback", "a continuation", "a hedge", "a paid failure"]
  )
})
