/** The generations of the ledger in memory. */
import { Clock, Effect, Option } from "effect"
import { type Generation } from "../../domain/Generation.ts"
import { monthEndMs } from "../../domain/pricing/Money.ts"
import {
  type GenerationQuery,
  type GenerationSort,
  type GenerationState,
  type GenerationStore,
  mostSorted
} from "./GenerationStore.ts"
import type { LedgerState } from "./MemoryState.ts"

/** True if the generation matches `error`: an error type, `any` or `none`. */
const endedIn = ({ errorType }: Generation, error: string): boolean =>
  error === "any" ? errorType !== null : error === "none" ? errorType === null : errorType === error

type Further = Omit<
  GenerationQuery,
  "keyId" | "limit" | "cursor" | "fromMs" | "toMs" | "model" | "ownerId" | "provider" | "error"
>

const matches = (one: Generation, { among, attempted, id, requestId, status, ...has }: Further): boolean =>
  (id === undefined || one.id === id) &&
  (requestId === undefined || one.request?.id === requestId) &&
  (status === undefined || one.request?.status === status) &&
  (attempted === undefined ||
    one.provider === attempted ||
    one.attempts.some(({ provider }) => provider === attempted)) &&
  (has.fallbackUsed === undefined || one.fallbackUsed) &&
  (has.cacheHit === undefined || one.cacheHit) &&
  (has.cancelled ?? one.cancelled) === one.cancelled &&
  (among === undefined ||
    among.models.includes(one.model) ||
    among.keyIds.includes(one.keyId) ||
    among.requestIds.includes(one.request?.id ?? "") ||
    (one.ownerId !== null && among.ownerIds.includes(one.ownerId)))

const sortedBy: Readonly<Record<GenerationSort, (one: Generation) => number>> = {
  cost: ({ cost }) => cost.billedNano,
  latency: ({ latencyMs }) => latencyMs
}

export const makeGenerationStore = (state: LedgerState): GenerationStore["Service"] => {
  /** The generations that began before a moment and are not archived, oldest first. */
  const oldOnes = (beforeMs: number, limit: number): ReadonlyArray<Generation> =>
    [...state.generations.values()]
      .map(({ generation }) => generation)
      .filter(({ createdAtMs, id }) => createdAtMs < beforeMs && !state.archived.has(id))
      .sort((a, b) => a.createdAtMs - b.createdAtMs)
      .slice(0, limit)

  /** Newest first. */
  const matching = (query: GenerationQuery): Array<Generation> => {
    const {
      cursor,
      error,
      fromMs = -Infinity,
      keyId,
      limit: _,
      model,
      ownerId,
      provider,
      toMs = Infinity,
      ...more
    } = query
    return [...state.generations.values()]
      .map((entry) => entry.generation)
      .filter((one) => (keyId === null || one.keyId === keyId) && (cursor === null || one.id < cursor))
      .filter((one) => one.createdAtMs >= fromMs && one.createdAtMs < toMs)
      .filter((one) => model === undefined || one.model === model)
      .filter((one) => ownerId === undefined || one.ownerId === ownerId)
      .filter((one) => provider === undefined || one.provider === provider)
      .filter((one) => error === undefined || endedIn(one, error))
      .filter((one) => matches(one, more))
      .sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  return {
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

    list: (query) =>
      Effect.sync(() => {
        const found = matching(query)
        const page = found.slice(0, query.limit)
        return { generations: page, nextCursor: found.length > query.limit ? (page.at(-1)?.id ?? null) : null }
      }),

    top: (query, by) =>
      Effect.sync(() =>
        matching({ ...query, cursor: null })
          .slice(0, mostSorted(query))
          .sort((a, b) => sortedBy[by](b) - sortedBy[by](a))
          .slice(0, query.limit)
      ),

    deleteBefore: (beforeMs, limit) =>
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

    deleteArchivedBefore: (beforeMs) =>
      Effect.sync(() => {
        for (const id of state.archived) {
          const createdAtMs = state.generations.get(id)?.generation.createdAtMs ?? 0
          if (monthEndMs(createdAtMs) > beforeMs) continue
          state.generations.delete(id)
          state.archived.delete(id)
        }
      })
  }
}
