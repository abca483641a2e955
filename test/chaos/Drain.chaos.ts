/**
 * A rolling restart under clients that keep their connections and go on sending, behind a balancer
 * that retries only refused connections.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { eventually, type Gateway, promptMarker } from "../support/Gateway.ts"
import { auditBooks, watchCaps } from "./books.ts"
import { beginStream, type TestKey, usageOf } from "./clients.ts"
import { openWorld, type World } from "./world.ts"

const LEASE_SECONDS = 10
const SETTLED_LIMIT_MS = 40_000
const GRACE_MS = 3_000
/** The default limit, which a drain must not reach. */
const DRAIN_LIMIT_MS = 30_000
const STREAM_TOKENS = 80
const STREAM_EVERY_MS = 100
const CLIENTS = 8
const QUICK_MS = 10
/** These answers outlive the grace period, and their clients send again on the same connection. */
const SLOW_MS = 250
/** The number of answers between two restarts. */
const ANSWERS = 80

/**
 * A balancer that keeps its connections to each gateway open. It skips a gateway that refuses
 * connections, and never sends a request twice.
 */
const makeBalancer = (gateways: ReadonlyArray<{ readonly url: string }>) => {
  const agents = new Map<string, Agent>()
  let turn = 0
  const counts = { passedOver: 0, reused: 0 }

  const sendTo = async (url: string, body: unknown, key: string) => {
    const agent = agents.get(url) ?? new Agent({ keepAlive: true, maxSockets: CLIENTS })
    agents.set(url, agent)
    const asking = request(`${url}/v1/chat/completions`, {
      agent,
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }
    })
    asking.end(JSON.stringify(body))
    const [response] = (await once(asking, "response")) as [IncomingMessage]
    if (asking.reusedSocket) counts.reused++
    let text = ""
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk
    return { status: response.statusCode, text, generationId: String(response.headers["x-generation-id"]) }
  }
  const send = async (body: unknown, key: string): Promise<Awaited<ReturnType<typeof sendTo>>> => {
    const first = turn++
    for (let tries = 0; ; tries++) {
      const { url } = gateways[(first + tries) % gateways.length] ?? assert.fail("no gateway")
      try {
        return await sendTo(url, body, key)
      } catch (cause) {
        const isRefused = cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED"
        if (!isRefused || tries === gateways.length) throw cause
        counts.passedOver++
      }
    }
  }
  const close = (): void => {
    for (const agent of agents.values()) agent.destroy()
  }
  return { send, close, counts }
}

/** Sends requests until `isOver`, JSON and stream in turn. */
const ask = async (options: {
  readonly world: World
  readonly send: ReturnType<typeof makeBalancer>["send"]
  readonly key: TestKey
  readonly isOver: () => boolean
  readonly failures: Array<string>
  /** Milliseconds between two of the twenty tokens of an answer. */
  readonly everyMs: number
}): Promise<void> => {
  const { everyMs, failures, isOver, key, send, world } = options
  const { notes } = world
  while (!isOver()) {
    const number = ++notes.calls
    const isStream = number % 2 === 0
    const content = `${promptMarker} ${key.id} call ${number} every ${everyMs} ms`
    const body = { model: key.model, max_tokens: 20, stream: isStream, messages: [{ role: "user", content }] }
    try {
      const { generationId, status, text } = await send(body, key.key)
      const usage = status !== 200 ? null : usageOf(text, isStream)
      if (usage === null) failures.push(`${status}: ${text.slice(-300)}`)
      else notes.told.push({ generationId, keyId: key.id, billedUsd: usage.estimated_cost_usd ?? null })
    } catch (cause) {
      failures.push(String(cause))
    }
  }
}

it.live("a rolling restart under pooled connections fails nothing, and each process ends with its streams", () =>
  Effect.gen(function* () {
    const world = yield* openWorld({ leaseSeconds: LEASE_SECONDS })
    const start = world.start({ TOLLGATE_SHUTDOWN_GRACE_MS: String(GRACE_MS) })
    const gateways: Array<Gateway> = [yield* start, yield* start]
    const key = yield* world.issue(gateways[0] ?? assert.fail("no gateway"))
    const watched = yield* watchCaps(world)
    const balancer = makeBalancer(gateways)
    yield* Effect.addFinalizer(() => Effect.sync(() => balancer.close()))
    const failures: Array<string> = []
    let isOver = false
    const clients = yield* Effect.forkChild(
      Effect.promise(() =>
        Promise.all(
          Array.from({ length: CLIENTS }, (_, at) =>
            ask({
              world,
              send: balancer.send,
              key,
              isOver: () => isOver,
              failures,
              everyMs: at % 2 === 0 ? QUICK_MS : SLOW_MS
            })
          )
        )
      )
    )
    const more = Effect.suspend(() => {
      const wanted = world.notes.told.length + ANSWERS
      return eventually(
        Effect.filterOrFail(
          Effect.sync(() => world.notes.told.length),
          (count) => count >= wanted
        ),
        60_000,
        `${ANSWERS} answers`
      )
    })
    const afterStreamMs: Array<number> = []
    yield* more
    for (const at of gateways.keys()) {
      const old = gateways[at] ?? assert.fail("no gateway")
      const stream = yield* beginStream({
        gateway: old,
        key,
        notes: world.notes,
        tokens: STREAM_TOKENS,
        everyMs: STREAM_EVERY_MS
      })
      yield* stream.begun
      const toldMs = performance.now()
      yield* old.signal("SIGTERM")
      yield* stream.whole
      const streamedMs = performance.now()
      assert.deepStrictEqual(yield* old.ended, { code: 0, signal: null })
      const endedMs = performance.now()
      afterStreamMs.push(Math.round(endedMs - streamedMs))
      assert.isBelow(endedMs - toldMs, DRAIN_LIMIT_MS, "it waited for its drain's limit")
      gateways[at] = yield* start
      yield* more
    }
    isOver = true
    yield* Fiber.join(clients)
    yield* auditBooks(world, {
      scenario: "a rolling restart",
      settledWithinMs: SETTLED_LIMIT_MS,
      watched,
      counts: { restarts: gateways.length, failures: failures.length, ...balancer.counts, afterStreamMs }
    })
    assert.deepStrictEqual(failures, [], "requests that failed")
    assert.isAbove(balancer.counts.reused, 0, "connections were kept")
    assert.isAbove(balancer.counts.passedOver, 0, "somebody was refused")
  })
)
