/**
 * The metrics that are read instead of counted: circuits, the ledger's backlog, budget usage, keys,
 * cache. They are read on demand, at most once in five seconds, budgets once a minute, so they cost
 * nothing otherwise. When a store does not answer, its last values stay.
 */
import { Clock, Effect, Layer } from "effect"
import { monthOf } from "../../domain/pricing/Money.ts"
import { Providers } from "../../providers/Providers.ts"
import { KeyRepo } from "../../store/keys/KeyRepo.ts"
import { Ledger } from "../../store/ledger/Ledger.ts"
import { LedgerReports } from "../../store/ledger/reports/LedgerReports.ts"
import { Cache } from "../cache/Cache.ts"
import { Circuits } from "../health/Circuits.ts"
import { type CircuitState } from "../health/CircuitState.ts"
import { GaugeFamily, type Reading } from "./GaugeFamily.ts"
import { RequestMetrics } from "./RequestMetrics.ts"
import { PendingSettlements } from "../billing/PendingSettlements.ts"
import { Lifecycle } from "../process/Lifecycle.ts"

const FRESH_MS = 5_000
const BUDGETS_FRESH_MS = 60_000
const KEYS_PER_PAGE = 1_000

const circuitValues: Readonly<Record<CircuitState["state"], number>> = { closed: 0, half_open: 1, open: 2 }

/** Bands of budget usage (spent and reserved), by lower bound. */
const bands = [
  { band: "exhausted", from: 1 },
  { band: "80-100", from: 0.8 },
  { band: "50-80", from: 0.5 },
  { band: "0-50", from: 0 }
] as const

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { beforeReading, context } = yield* RequestMetrics
    const { all } = yield* Providers
    const circuits = yield* Circuits
    const ledger = yield* Ledger
    const reports = yield* LedgerReports
    const keys = yield* KeyRepo
    const cache = yield* Cache
    const { uptimeSeconds } = yield* Lifecycle

    const gauge = (id: string, unit: string, description: string) => new GaugeFamily(context, id, unit, description)
    const circuit = gauge("tollgate.circuit.state", "1", "Circuits: 0 closed, 1 half open, 2 open")
    const pending = gauge("tollgate.ledger.pending", "{request}", "Reserved requests that are not settled")
    const oldest = gauge("tollgate.ledger.oldest_pending", "s", "Age of the oldest unsettled request")
    const lag = gauge("tollgate.ledger.flush_lag", "s", "Age of this process's oldest unwritten ledger entry")
    const unwritten = gauge(
      "tollgate.ledger.unwritten",
      "{settlement}",
      "Settlements of this process that wait for the database"
    )
    const pendingSettlements = yield* PendingSettlements
    const budgets = gauge("tollgate.budget.keys", "{key}", "Active keys with a budget, by the share used")
    const counts = gauge("tollgate.keys", "{key}", "API keys by status")
    const entries = gauge("tollgate.cache.entries", "{entry}", "Entries in the prompt cache")
    const uptime = gauge("tollgate.uptime", "s", "Time since the process started")
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const family of [circuit, pending, oldest, lag, budgets, counts, entries, uptime]) family.set([])
      })
    )

    const readCircuits = Effect.gen(function* () {
      const readings: Array<Reading> = []
      for (const { config } of all) {
        for (const offer of config.models) {
          const { state } = yield* circuits.stateHere({ provider: config, offer })
          const attributes = { "gen_ai.provider.name": config.slug, "gen_ai.response.model": offer.id }
          readings.push({ value: circuitValues[state], attributes })
        }
      }
      circuit.set(readings)
    })

    const readLedger = Effect.fnUntraced(function* (nowMs: number) {
      const backlog = yield* reports.backlog(nowMs)
      pending.set([{ value: backlog.pending }])
      oldest.set([{ value: backlog.oldestPendingMs / 1000 }])
      lag.set([{ value: backlog.flushLagMs / 1000 }])
    })

    const readKeys = Effect.fnUntraced(function* (nowMs: number) {
      const { byStatus } = yield* keys.counts(nowMs)
      counts.set(Object.entries(byStatus).map(([status, value]) => ({ value, attributes: { status } })))
      const found = new Map<string, number>(bands.map(({ band }) => [band, 0]))
      let afterId: string | null = null
      while (true) {
        const page: ReadonlyArray<{ readonly id: string; readonly capNano: number }> = yield* keys.capped({
          limit: KEYS_PER_PAGE,
          afterId,
          nowMs
        })
        const balances = yield* ledger.balances(
          page.map(({ id }) => id),
          monthOf(nowMs)
        )
        for (const { capNano, id } of page) {
          const { reservedNano, spentNano } = balances.get(id) ?? { reservedNano: 0, spentNano: 0 }
          const band = bandOf(spentNano + reservedNano, capNano)
          found.set(band, (found.get(band) ?? 0) + 1)
        }
        if (page.length < KEYS_PER_PAGE) break
        afterId = page.at(-1)?.id ?? null
      }
      budgets.set([...found].map(([band, value]) => ({ value, attributes: { used_percent: band } })))
    })

    let readAtMs = -Infinity
    let keysReadAtMs = -Infinity
    const refresh = Effect.gen(function* () {
      const nowMs = yield* Clock.currentTimeMillis
      if (nowMs - readAtMs < FRESH_MS) return
      readAtMs = nowMs
      yield* readCircuits
      entries.set([{ value: yield* cache.size }])
      uptime.set([{ value: yield* uptimeSeconds }])
      unwritten.set([{ value: pendingSettlements.waiting() }])
      yield* Effect.ignore(readLedger(nowMs))
      if (nowMs - keysReadAtMs < BUDGETS_FRESH_MS) return
      keysReadAtMs = nowMs
      yield* Effect.ignore(readKeys(nowMs))
    })
    yield* beforeReading(refresh)
  })
)

/** A cap of 0 counts as exhausted. */
const bandOf = (usedNano: number, capNano: number): string => {
  const share = capNano === 0 ? 1 : usedNano / capNano
  return (bands.find(({ from }) => share >= from) ?? bands[3]).band
}
