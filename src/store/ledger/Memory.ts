/**
 * The ledger in memory, for tests and trials. Same guarantees as the tables, until the process
 * ends.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { estimatedGeneration } from "./EstimatedGeneration.ts"
import { GenerationStore } from "./GenerationStore.ts"
import { makeGenerationStore } from "./GenerationStoreMemory.ts"
import { type Balance, Ledger } from "./Ledger.ts"
import { LedgerReports } from "./reports/LedgerReports.ts"
import { makeLedgerReports } from "./reports/LedgerReportsMemory.ts"
import { emptyState, type Held, type LedgerState } from "./MemoryState.ts"
import { addUsage } from "./reports/ReportMemory.ts"
import { storableGeneration, storableNano } from "./StorableGeneration.ts"

const nothing: Balance = { spentNano: 0, reservedNano: 0 }
const counterOf = (keyId: string, month: string): string => `${keyId} ${month}`

const make = (state: LedgerState): Ledger["Service"] => {
  const balance = (keyId: string, month: string): Balance => state.counters.get(counterOf(keyId, month)) ?? nothing
  const add = (keyId: string, month: string, spentNano: NanoUsd, reservedNano: NanoUsd): void => {
    const before = balance(keyId, month)
    state.counters.set(counterOf(keyId, month), {
      spentNano: before.spentNano + spentNano,
      reservedNano: before.reservedNano + reservedNano
    })
  }
  const release = (generationId: string, keyId?: string): Held | undefined => {
    const held = state.reservations.get(generationId)
    if (held === undefined || (keyId ?? held.keyId) !== held.keyId) return undefined
    state.reservations.delete(generationId)
    add(held.keyId, held.month, 0, -held.amountNano)
    return held
  }
  const store = (given: Generation, givenMonth: string): void => {
    const generation = storableGeneration(given)
    const month = release(generation.id, generation.keyId)?.month ?? givenMonth
    const known = state.generations.get(generation.id)
    if (known !== undefined) {
      const corrects = known.generation.keyId === generation.keyId && generation.usageSource !== "estimated"
      if (!corrects || !undo(generation.id)) return
    }
    state.generations.set(generation.id, { generation, month: known?.month ?? month })
    add(generation.keyId, known?.month ?? month, generation.cost.billedNano, 0)
    addUsage(state.usageDays, generation, 1)
  }
  /** Removes an estimated generation from the counters and the usage by day. */
  const undo = (id: string): boolean => {
    const known = state.generations.get(id)
    if (known?.generation.usageSource !== "estimated" || state.archived.has(id)) return false
    state.generations.delete(id)
    add(known.generation.keyId, known.month, -known.generation.cost.billedNano, 0)
    addUsage(state.usageDays, known.generation, -1)
    return true
  }

  return {
    reserve: (given) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        const reservation = { ...given, amountNano: storableNano(given.amountNano) }
        const { generationId, keyId, month, amountNano, capNano } = reservation
        if (state.reservations.has(generationId) || state.generations.has(generationId)) return { _tag: "Reserved" }
        const now = balance(keyId, month)
        if (capNano !== null && now.spentNano + now.reservedNano + amountNano > capNano) {
          return { _tag: "Refused", balance: now }
        }
        state.reservations.set(generationId, {
          ...reservation,
          extendedNano: 0,
          leaseUntilMs: nowMs + reservation.leaseMs,
          progress: reservation.progress ?? null
        })
        add(keyId, month, 0, amountNano)
        return { _tag: "Reserved" }
      }),

    extend: (generationId, amountNano, capNano) =>
      Effect.sync(() => {
        const held = state.reservations.get(generationId)
        if (held === undefined) {
          const settled = state.generations.get(generationId)
          return {
            _tag: "Refused",
            balance: settled === undefined ? nothing : balance(settled.generation.keyId, settled.month)
          }
        }
        const now = balance(held.keyId, held.month)
        if (capNano !== null && now.spentNano + now.reservedNano + amountNano > capNano) {
          return { _tag: "Refused", balance: now }
        }
        state.reservations.set(generationId, {
          ...held,
          amountNano: held.amountNano + amountNano,
          extendedNano: held.extendedNano + amountNano
        })
        add(held.keyId, held.month, 0, amountNano)
        return { _tag: "Reserved" }
      }),

    renew: (running, leaseMs) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        for (const { generationId, progress } of running) {
          const held = state.reservations.get(generationId)
          if (held === undefined) continue
          const leaseUntilMs = nowMs + leaseMs
          state.reservations.set(generationId, { ...held, leaseUntilMs, progress: progress ?? held.progress })
        }
      }),

    settle: (generation, month) => Effect.sync(() => store(generation, month)),

    replay: (generation, month, amountNano, capNano) =>
      Effect.sync(() => {
        const { id, keyId } = generation
        const now = balance(keyId, month)
        const isKnown = state.reservations.has(id) || state.generations.has(id)
        if (!isKnown && capNano !== null && now.spentNano + now.reservedNano + amountNano > capNano) {
          return { _tag: "Refused", balance: now }
        }
        store(generation, month)
        return { _tag: "Reserved" }
      }),

    void: (generationId) => Effect.sync(() => void (release(generationId) ?? undo(generationId))),

    balances: (keyIds, month) => Effect.sync(() => new Map(keyIds.map((id) => [id, balance(id, month)]))),

    settleExpired: Effect.map(Clock.currentTimeMillis, (nowMs) => {
      const expired = [...state.reservations.values()].filter((held) => held.leaseUntilMs <= nowMs)
      for (const held of expired) store(estimatedGeneration(held), held.month)
      return expired.length
    }),

    ping: Effect.void
  }
}

/** The ledger, its generations and its reports. Each build starts empty. */
export const layer = Layer.effectContext(
  Effect.sync(() => {
    const state = emptyState()
    return Context.make(Ledger, make(state)).pipe(
      Context.add(GenerationStore, makeGenerationStore(state)),
      Context.add(LedgerReports, makeLedgerReports(state))
    )
  })
)
