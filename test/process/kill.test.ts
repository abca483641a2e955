/**
 * `kill -9` under load: all responses that clients received hold after the next start. Keys whose
 * creation was confirmed exist, generations whose response or `[DONE]` was received exist once, and
 * the key's spending is their sum.
 */
import { assert, describe, it, vi } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { inject } from "vitest"
import {
  eventually,
  type Gateway,
  type GatewayOptions,
  type IssuedKey,
  promptMarker,
  startGateway,
  temporaryDirectory
} from "../support/Gateway.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const WORKERS = 6
const KILLS = 2
/** Responses to wait for before each kill. */
const ANSWERS = 60

interface Told {
  readonly keys: Array<IssuedKey>
  /** By the key that made them. */
  readonly generations: Map<string, Array<string>>
}

/** Sends one request after another until the connection breaks, and records the responses. */
const work = Effect.fnUntraced(function* (gateway: Gateway, key: string, worker: number, told: Told) {
  const note = (id: string): void => {
    const ids = told.generations.get(key) ?? []
    told.generations.set(key, ids)
    ids.push(id)
  }
  for (let round = 0; ; round++) {
    const body = {
      model: "mock/echo",
      messages: [{ role: "user", content: `${promptMarker} ${worker} ${round} ${performance.now()}` }]
    }
    if (round % 10 === worker) {
      const { status, text } = yield* gateway.send("/v1/keys", {
        headers: { "x-admin-key": gateway.adminKey },
        body: { name: `worker ${worker}`, tier: "free" }
      })
      assert.strictEqual(status, 200)
      told.keys.push(JSON.parse(text) as IssuedKey)
    } else if (round % 2 === 0) {
      const { headers, status } = yield* gateway.send("/v1/chat/completions", { key, body })
      assert.strictEqual(status, 200)
      note(String(headers["x-generation-id"]))
    } else {
      const stream = yield* gateway.stream("/v1/chat/completions", { key, body: { ...body, stream: true } })
      yield* Effect.tryPromise(() => stream.until("data: [DONE]"))
      note(String(stream.headers["x-generation-id"]))
    }
  }
})

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string; readonly cost: { readonly billed_usd: number } }>
  readonly next_cursor: string | null
}

/** All generations of a key, from its list. */
const listed = Effect.fnUntraced(function* (gateway: Gateway, key: string) {
  const found: Array<Page["data"][number]> = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
    const { status, text } = yield* gateway.send(`/v1/generations?limit=100${query}`, { key })
    assert.strictEqual(status, 200, text)
    const page = JSON.parse(text) as Page
    found.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return found
})

const verify = Effect.fnUntraced(function* (gateway: Gateway, told: Told) {
  for (const { id, key } of told.keys) {
    const { status, text } = yield* gateway.send("/v1/key", { key })
    assert.strictEqual(status, 200, text)
    assert.strictEqual((JSON.parse(text) as IssuedKey).id, id)
  }
  for (const [key, ids] of told.generations) {
    const all = yield* listed(gateway, key)
    const counts = new Map<string, number>()
    for (const { id } of all) counts.set(id, (counts.get(id) ?? 0) + 1)
    assert.deepStrictEqual(
      ids.filter((id) => counts.get(id) !== 1),
      [],
      "not recorded exactly once"
    )
    const last = ids.at(-1) ?? ""
    const { status, text } = yield* gateway.send(`/v1/generations/${last}`, { key })
    assert.strictEqual(status, 200)
    assert.strictEqual((JSON.parse(text) as { readonly id: string }).id, last)
    const own = JSON.parse((yield* gateway.send("/v1/key", { key })).text) as {
      readonly usage: { readonly month_spent_usd: number }
    }
    const sum = all.reduce((sum, { cost }) => sum + cost.billed_usd, 0)
    assert.closeTo(own.usage.month_spent_usd, sum, 1e-9)
  }
})

const underLoad = Effect.fnUntraced(function* (options: GatewayOptions) {
  const told: Told = { keys: [], generations: new Map() }
  const answers = () => [...told.generations.values()].reduce((sum, ids) => sum + ids.length, told.keys.length)
  let gateway = yield* startGateway(options)
  const workers = yield* Effect.forEach(Array.from({ length: WORKERS }), () => gateway.issueKey())
  for (let kill = 0; kill < KILLS; kill++) {
    const before = answers()
    const load = yield* Effect.forkChild(
      Effect.forEach(workers, ({ key }, worker) => Effect.exit(work(gateway, key, worker, told)), {
        concurrency: "unbounded"
      })
    )
    yield* eventually(
      Effect.filterOrFail(Effect.sync(answers), (count) => count >= before + ANSWERS),
      30_000,
      `${ANSWERS} answers`
    )
    assert.deepStrictEqual(yield* gateway.kill, { code: null, signal: "SIGKILL" })
    const exits = yield* Fiber.join(load)
    // They ended because the connection broke, not because a response was wrong.
    for (const exit of exits) assert.isTrue(Exit.isFailure(exit) && !Cause.hasDies(exit.cause), String(exit))
    gateway = yield* startGateway(options)
    yield* verify(gateway, told)
  }
  assert.isAtLeast(told.keys.length, KILLS)
})

describe("kill -9 under load", () => {
  it.live("on the embedded database", () =>
    Effect.gen(function* () {
      yield* underLoad({ directory: yield* temporaryDirectory })
    })
  )

  it.live("on Postgres, with shared limits", () =>
    Effect.gen(function* () {
      yield* underLoad({ env: { ...(yield* postgresEnv), REDIS_URL: inject("redisUrl") } })
    })
  )
})
