/**
 * Invariants of the ledger after any fault. Counters and daily sums are the sums of their entries.
 * No cap is exceeded at any sample. No generation and no call is there twice, and no call of a
 * capped key is missing. A client was told what its generation says. A generation with reported
 * usage has the tokens that the provider wrote. At the end nothing is reserved and no slot is
 * taken.
 */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Console, Effect, Layer, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { RedisConnection } from "../../src/store/redis/RedisConnection.ts"
import { Audit } from "../store/ledger/LedgerAudit.ts"
import { eventually } from "../support/Gateway.ts"
import { type TestKey } from "./clients.ts"
import { NANO, type World } from "./world.ts"

/** The slots of a dead process are free after 15 s. */
const SLOTS_FREE_LIMIT_MS = 25_000

interface Row {
  readonly id: string
  readonly key_id: string
  readonly billed_nano: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly usage_source: string
}

/**
 * Counters that are not the sums of their entries. There must be none at any moment, even under
 * load.
 */
export const differencesOf = ({ sql }: World) =>
  Effect.flatMap(Audit, ({ differences }) => differences).pipe(
    Effect.provide(Audit.layer.pipe(Layer.provide(Layer.succeed(PgClient.PgClient, sql))))
  )

/**
 * Samples all balances five times a second until it is interrupted. `over`: caps that were
 * exceeded.
 */
export const watchCaps = Effect.fnUntraced(function* ({ keys, sql }: World) {
  const seen = { looks: 0, over: new Array<string>() }
  yield* Effect.forkScoped(
    sql<{ readonly key_id: string; readonly spent_nano: number; readonly reserved_nano: number }>`
      SELECT key_id, spent_nano, reserved_nano FROM budget_counters`.pipe(
      Effect.map((balances) => {
        seen.looks++
        for (const { key_id: id, reserved_nano: reserved, spent_nano: spent } of balances) {
          const cap = keys.find((key) => key.id === id)?.capUsd ?? null
          if (cap !== null && spent + reserved > Math.round(cap * NANO)) seen.over.push(`${id}: ${spent} + ${reserved}`)
        }
      }),
      Effect.ignore,
      Effect.andThen(Effect.sleep("200 millis")),
      Effect.forever
    )
  )
  return seen
})

const generationsOf = ({ sql }: World) => sql<Row>`
  SELECT id, key_id, billed_nano, prompt_tokens, completion_tokens, usage_source FROM generations
  UNION ALL
  SELECT id, key_id, billed_nano, prompt_tokens, completion_tokens, usage_source FROM generations_archive`

const slotsTaken = ({ redis }: World) =>
  Effect.gen(function* () {
    const store = yield* Redis.Redis
    const keys = yield* store.send<ReadonlyArray<string>>("KEYS", "tollgate:limits:*:leases")
    const [seconds] = yield* store.send<readonly [string, string]>("TIME")
    const taken = yield* Effect.forEach(keys, (key) => store.send<number>("ZCOUNT", key, `${seconds}000`, "+inf"))
    return taken.reduce((sum, count) => sum + count, 0)
  }).pipe(Effect.provide(RedisConnection.layer({ url: Redacted.make(redis.url) })))

/** Waits until no concurrency slot is taken. */
export const slotsFree = (world: World, limitMs: number) =>
  eventually(
    Effect.filterOrFail(slotsTaken(world), (taken) => taken === 0),
    limitMs,
    "no slot taken"
  )

/**
 * Waits at most this long until nothing is reserved, then checks everything and prints the
 * scenario's line.
 */
export const auditBooks = Effect.fnUntraced(function* (
  world: World,
  options: {
    readonly scenario: string
    readonly settledWithinMs: number
    /** Waits for late settlements too: every estimate is corrected, because no process died. */
    readonly untilCorrected?: boolean
    readonly watched?: { readonly looks: number; readonly over: ReadonlyArray<string> }
    /** More counts for the line. */
    readonly counts?: Readonly<Record<string, unknown>>
  }
) {
  const { counts, scenario, settledWithinMs, untilCorrected = false, watched } = options
  const { keys, notes, provider, sql } = world
  const sinceMs = performance.now()
  const nothingReserved = Effect.filterOrFail(
    sql<{ readonly count: number }>`
      SELECT ((SELECT count(*) FROM reservations)
        + (SELECT count(*) FROM budget_counters WHERE reserved_nano <> 0)
        + (SELECT count(*) FROM generations WHERE ${untilCorrected} AND usage_source = 'estimated'))::int AS count`,
    ([row]) => row?.count === 0
  )
  yield* eventually(
    nothingReserved,
    settledWithinMs,
    untilCorrected ? "nothing reserved or estimated" : "nothing reserved"
  )
  const settledAfterMs = Math.round(performance.now() - sinceMs)
  yield* slotsFree(world, SLOTS_FREE_LIMIT_MS)

  const rows = yield* generationsOf(world)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const otherwise = notes.told.filter(({ billedUsd, generationId, keyId }) => {
    const row = byId.get(generationId)
    if (row === undefined || row.key_id !== keyId) return true
    if (billedUsd === null) return false
    return row.billed_nano !== Math.round(billedUsd * NANO) || row.usage_source === "estimated"
  })
  const estimated = rows.filter(({ usage_source: source }) => source === "estimated")
  const reported = world.namesCalls ? rows.filter((row) => row.usage_source === "provider") : []
  const tokens = (some: ReadonlyArray<Row>) => some.reduce((sum, { completion_tokens: count }) => sum + count, 0)
  const callsOf = (key: TestKey) => [...provider.produced.values()].filter(({ keyId }) => keyId === key.id).length
  const lost = keys
    .map((key) => ({ key, missing: callsOf(key) - rows.filter((row) => row.key_id === key.id).length }))
    .filter(({ missing }) => missing > 0)
  const differences = yield* differencesOf(world)
  const line = {
    ...counts,
    generations: rows.length,
    answers: notes.told.length,
    withoutAmount: notes.told.filter(({ billedUsd }) => billedUsd === null).length,
    estimated: estimated.length,
    estimatedTokens: tokens(estimated),
    billedTokens: tokens(rows),
    producedTokens: [...provider.produced.values()].reduce((sum, call) => sum + call.tokens, 0),
    differences: differences.length,
    toldOtherwise: otherwise.length,
    unrecordedCalls: lost.reduce((sum, { missing }) => sum + missing, 0),
    settledAfterMs,
    ...(watched === undefined ? {} : { looks: watched.looks })
  }
  yield* Console.log(`chaos: ${scenario}: ${JSON.stringify(line)}`)

  assert.deepStrictEqual(differences, [], "counters that are not their sums")
  assert.deepStrictEqual(watched?.over ?? [], [], "caps passed")
  assert.deepStrictEqual(otherwise, [], "told otherwise than the ledger has it")
  assert.strictEqual(byId.size, rows.length, "an id twice")
  assert.strictEqual(new Set(reported.map((row) => row.prompt_tokens)).size, reported.length, "a call billed twice")
  assert.deepStrictEqual(
    reported.filter((row) => provider.produced.get(row.prompt_tokens)?.tokens !== row.completion_tokens),
    [],
    "billed otherwise than produced"
  )
  assert.deepStrictEqual(
    [...provider.produced].filter(([number, { times }]) => number > 0 && times > 1),
    [],
    "a call made twice"
  )
  assert.deepStrictEqual(
    lost.filter(({ key }) => key.capUsd !== null),
    [],
    "calls of keys with a cap that are not in the ledger"
  )
  assert.deepStrictEqual(notes.wrong, [], "answers that no client should see")
  return rows
})
