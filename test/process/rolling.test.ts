/**
 * A rolling restart under load, behind a load balancer that tries the next process if one refuses
 * connections: no request fails.
 */
import { assert, it, vi } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { inject } from "vitest"
import { eventually, type Gateway, promptMarker, startGateway } from "../support/Gateway.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 })

const CLIENTS = 8
/** Responses to wait for before and after each restart. */
const ANSWERS = 40

const isRefused = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ECONNREFUSED"

it.live("not one request fails while every process is replaced", () =>
  Effect.gen(function* () {
    const env = { ...(yield* postgresEnv), REDIS_URL: inject("redisUrl") }
    const gateways: Array<Gateway> = [yield* startGateway({ env }), yield* startGateway({ env })]
    const { key } = yield* (gateways[0] ?? assert.fail("no gateway")).issueKey()
    let answered = 0
    const load = { isOver: false }
    const failures: Array<string> = []

    /**
     * Like a load balancer: skips processes that refuse connections, and never repeats a request
     * that was sent.
     */
    const balanced = (at: number, body: Readonly<Record<string, unknown>>) =>
      Effect.firstSuccessOf(
        [0, 1].map((next) =>
          Effect.suspend(() => {
            const gateway = gateways[(at + next) % gateways.length]
            if (gateway === undefined) return Effect.die(new Error("no gateway"))
            return Effect.catchIf(
              gateway.send("/v1/chat/completions", { key, body }),
              ({ cause }) => !isRefused(cause),
              (error) => Effect.die(error)
            )
          })
        )
      )
    const client = (number: number) =>
      Effect.gen(function* () {
        for (let round = number; !load.isOver; round++) {
          const streamed = round % 2 === 0
          const answer = yield* balanced(round, {
            model: "mock/lorem",
            max_tokens: 30,
            stream: streamed,
            messages: [{ role: "user", content: `${promptMarker} ${number} ${round}` }],
            metadata: { mock: { tokens_per_second: 100 } }
          })
          answered++
          const isWhole = !streamed || answer.text.endsWith("data: [DONE]\n\n")
          if (answer.status !== 200 || !isWhole || answer.text.includes(`"error"`)) failures.push(answer.text)
        }
      })
    const clients = yield* Effect.forkChild(
      Effect.forEach(
        Array.from({ length: CLIENTS }, (_, number) => number),
        client,
        {
          concurrency: "unbounded",
          discard: true
        }
      )
    )
    const more = Effect.suspend(() => {
      const before = answered
      return eventually(
        Effect.filterOrFail(
          Effect.sync(() => answered),
          (count) => count >= before + ANSWERS
        ),
        60_000,
        `${ANSWERS} answers`
      )
    })
    yield* more
    for (const at of gateways.keys()) {
      const old = gateways[at]
      if (old === undefined) continue
      assert.deepStrictEqual(yield* old.stop, { code: 0, signal: null })
      gateways[at] = yield* startGateway({ env })
      yield* more
    }
    load.isOver = true
    yield* Fiber.join(clients)
    assert.strictEqual(failures.join("\n"), "")
  })
)
