/**
 * Old generations in a running gateway: they move to the archive, stay readable, and are deleted on
 * time.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it, vi } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { idBound } from "../../src/domain/Ids.ts"
import { monthOf } from "../../src/domain/pricing/Money.ts"
import { Ledger } from "../../src/store/ledger/Ledger.ts"
import * as LedgerSql from "../../src/store/ledger/Sql.ts"
import { Sql } from "../../src/store/sql/Sql.ts"
import { makeGeneration } from "../store/ledger/makeGeneration.ts"
import { eventually, promptMarker, startGateway } from "../support/Gateway.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const DAY = 86_400_000
const ARCHIVED_MS = 20_000

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string }>
  readonly next_cursor: string | null
}

it.live("move by archive_days, are read as before, and are gone for readers by retention_days", () =>
  Effect.gen(function* () {
    const env = yield* postgresEnv
    const first = yield* startGateway({ env })
    const { id: keyId, key } = yield* first.issueKey()
    const chat = yield* first.send("/v1/chat/completions", {
      key,
      body: { model: "mock/echo", messages: [{ role: "user", content: promptMarker }] }
    })
    const recent = String(chat.headers["x-generation-id"])
    yield* first.stop

    const stores = yield* Layer.build(
      LedgerSql.layer.pipe(Layer.provideMerge(Sql.layerPostgres({ url: Redacted.make(env.DATABASE_URL) })))
    )
    const [ledger, sql] = [Context.get(stores, Ledger), Context.get(stores, PgClient.PgClient)]
    const settled = Effect.fnUntraced(function* (daysAgo: number) {
      const createdAtMs = Date.now() - daysAgo * DAY
      const id = `${idBound("gen", createdAtMs)}${String(daysAgo).padStart(20, "0")}`
      yield* ledger.settle(makeGeneration({ id, keyId, createdAtMs }, 5), monthOf(createdAtMs))
      return id
    })
    const [younger, older, oldest] = [yield* settled(40), yield* settled(100), yield* settled(400)]

    const gateway = yield* startGateway({
      env,
      config: { generations: { archive_days: 30, retention_days: 365 } }
    })
    yield* eventually(
      Effect.filterOrFail(
        sql<{ readonly id: string }>`SELECT id FROM generations`,
        (rows) => rows.length === 1 && rows[0]?.id === recent
      ),
      ARCHIVED_MS,
      "the archive"
    )
    const get = (id: string) => Effect.map(gateway.send(`/v1/generations/${id}`, { key }), ({ status }) => status)
    assert.deepStrictEqual(yield* Effect.forEach([recent, younger, older, oldest], get), [200, 200, 200, 404])
    const page = Effect.fnUntraced(function* (cursor: string | null) {
      const query = cursor === null ? "" : `&cursor=${cursor}`
      const { text } = yield* gateway.send(`/v1/generations?limit=2${query}`, { key })
      const { data, next_cursor } = JSON.parse(text) as Page
      return { ids: data.map(({ id }) => id), next: next_cursor }
    })
    const { ids, next } = yield* page(null)
    assert.deepStrictEqual([ids, next], [[recent, younger], younger])
    assert.deepStrictEqual(yield* page(next), { ids: [older], next: null })
  })
)
