/** The ledger in memory, for tests and for trying things out: the same promises as the tables, and forgotten with the process. */
import { Clock, Effect, Layer, Option } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { monthEndMs, type NanoUsd } from "../../domain/Money.ts"
import { estimatedGeneration } from "./EstimatedGeneration.ts"
import { type Balance, type GenerationState, Ledger, type Progress, type Reservation } from "./Ledger.ts"
import { overviewOf } from "./OverviewMemory.ts"
import { addUsage, reportOf, type UsageDay } from "./ReportMemory.ts"
import { seriesOf } from "./SeriesMemory.ts"
import { storableGeneration, storableNano } from "./StorableGeneration.ts"

/** A generation and the month that it is charged to. */
export interface Entry {
  readonly generation: Generation
  readonly month: string
}

/** `amountNano`: all that is held, `extendedNano` of it added later. */
export interface Held extends Reservation {
  readonly extendedNano: NanoUsd
  readonly leaseUntilMs: number
  readonly progress: Progress | null
}

export interface LedgerState {
  readonly reservations: Map<string, Held>
  readonly generations: Map<string, Entry>
  /** The ids of those that were archived. */
  readonly archived: Set<string>
  /** By `key month`. */
  readonly counters: Map<string, Balance>
  /** What was used by day; stays when generations go. */
  readonly usageDays: Map<string, UsageDay>
}

/** Whether a generation ended in an error of this type; `any` and `none` as in a query. */
const endedIn = ({ errorType }: Generation, error: string): boolean =>
  error === "any" ? errorType !== null : error === "none" ? errorType === null : errorType === error

const nothing: Balance = { spentNano: 0, reservedNano: 0 }
const counterOf = (keyId: string, month: string): string => `${keyId} ${month}`

const make = (): Ledger["Service"] => {
  const state: LedgerState = {
    reservations: new Map(),
    generations: new Map(),
    archived: new Set(),
    counters: new Map(),
    usageDays: new Map()
  }

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
  /** Takes an estimate out of the books. */
  const undo = (id: string): boolean => {
    const known = state.generations.get(id)
    if (known?.generation.usageSource !== "estimated" || state.archived.has(id)) return false
    state.generations.delete(id)
    add(known.generation.keyId, known.month, -known.generation.cost.billedNano, 0)
    addUsage(state.usageDays, known.generation, -1)
    return true
  }

  /** Those that are not archived, oldest first. */
  const oldOnes = (beforeMs: number, limit: number): ReadonlyArray<Generation> =>
    [...state.generations.values()]
      .map(({ generation }) => generation)
      .filter(({ createdAtMs, id }) => createdAtMs < beforeMs && !state.archived.has(id))
      .sort((a, b) => a.createdAtMs - b.createdAtMs)
      .slice(0, limit)

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

    find: (id, keyId, ownerId = null) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        const isTheirs = (one: Pick<Generation, "keyId" | "ownerId">) =>
          (keyId ?? one.keyId) === one.keyId && (ownerId ?? one.ownerId) === one.ownerId
        const settled = state.generations.get(id)?.generation
        if (settled !== undefined && isTheirs(settled))
          return Option.some<GenerationState>({ _tag: "Settled", generation: settled })
        const held = state.reservations.get(id)
        return held !== undefined && isTheirs(held)
          ? Option.some<GenerationState>({ _tag: "Pending", isOver: held.leaseUntilMs <= nowMs })
          : Option.none()
      }),

    list: ({ keyId, limit, cursor, fromMs = -Infinity, toMs = Infinity, model, ownerId, provider, error }) =>
      Effect.sync(() => {
        const found = [...state.generations.values()]
          .map((entry) => entry.generation)
          .filter((one) => (keyId === null || one.keyId === keyId) && (cursor === null || one.id < cursor))
          .filter((one) => one.createdAtMs >= fromMs && one.createdAtMs < toMs)
          .filter((one) => model === undefined || one.model === model)
          .filter((one) => ownerId === undefined || one.ownerId === ownerId)
          .filter((one) => provider === undefined || one.provider === provider)
          .filter((one) => error === undefined || endedIn(one, error))
          .sort((a, b) => (a.id < b.id ? 1 : -1))
        const page = found.slice(0, limit)
        return { generations: page, nextCursor: found.length > limit ? (page.at(-1)?.id ?? null) : null }
      }),

    series: (span) => Effect.sync(() => seriesOf(state, span)),

    report: (query) => Effect.sync(() => reportOf(state.usageDays, query)),

    forget: (beforeMs, limit) =>
      Effect.sync(() => {
        const gone = oldOnes(beforeMs, limit)
        for (const { id } of gone) state.generations.delete(id)
        return gone.length
      }),

    archive: (beforeMs, limit) =>
      Effect.sync(() => {
        const moved = oldOnes(beforeMs, limit)
        for (const { id } of moved) state.archived.add(id)
        return moved.length
      }),

    forgetArchived: (beforeMs) =>
      Effect.sync(() => {
        for (const id of state.archived) {
          const createdAtMs = state.generations.get(id)?.generation.createdAtMs ?? 0
          if (monthEndMs(createdAtMs) > beforeMs) continue
          state.generations.delete(id)
          state.archived.delete(id)
        }
      }),

    balances: (keyIds, month) => Effect.sync(() => new Map(keyIds.map((id) => [id, balance(id, month)]))),

    overview: (nowMs) => Effect.sync(() => overviewOf(state, nowMs)),

    backlog: (nowMs) =>
      Effect.sync(() => {
        const { flushLagMs, oldestPendingMs, pending } = overviewOf(state, nowMs)
        return { pending, oldestPendingMs: oldestPendingMs ?? 0, flushLagMs }
      }),

    settleExpired: Effect.map(Clock.currentTimeMillis, (nowMs) => {
      const expired = [...state.reservations.values()].filter((held) => held.leaseUntilMs <= nowMs)
      for (const held of expired) store(estimatedGeneration(held), held.month)
      return expired.length
    }),

    ping: Effect.void
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(Ledger, make)
