/** Refusals in memory, for tests and trials: lost when the process ends. */
import { Effect, Layer } from "effect"
import { idTimeMs } from "../../domain/Ids.ts"
import { type Refusal } from "../../domain/Refusal.ts"
import { type RefusalGroup, type RefusalQuery, RefusalStore } from "./RefusalStore.ts"

const matches = (one: Refusal, { among, ...query }: RefusalQuery): boolean =>
  (query.cursor === null || one.id < query.cursor) &&
  (query.keyId ?? one.keyId) === one.keyId &&
  (query.ownerId === undefined || one.ownerId === query.ownerId) &&
  idTimeMs(one.id) >= (query.fromMs ?? -Infinity) &&
  idTimeMs(one.id) < (query.toMs ?? Infinity) &&
  (query.model === undefined || one.model === query.model) &&
  (query.status === undefined || one.status === query.status) &&
  (query.type === undefined || one.type === query.type) &&
  (query.id === undefined || one.id === query.id) &&
  (query.requestId === undefined || one.requestId === query.requestId) &&
  (among === undefined ||
    among.models.includes(one.model ?? "") ||
    among.requestIds.includes(one.requestId) ||
    among.keyIds.includes(one.keyId ?? "") ||
    among.ownerIds.includes(one.ownerId ?? ""))

const groups: Readonly<Record<RefusalGroup, (one: Refusal) => string | null>> = {
  day: ({ createdAtMs }) => new Date(createdAtMs).toISOString().slice(0, 10),
  model: ({ model }) => model,
  key: ({ keyId }) => keyId,
  owner: ({ ownerId }) => ownerId
}

/** Each build starts empty. */
export const layer = Layer.sync(RefusalStore, () => {
  const refusals = new Map<string, Refusal>()
  return {
    add: (added) => Effect.sync(() => added.forEach((one) => refusals.set(one.id, one))),

    list: (query) =>
      Effect.sync(() =>
        [...refusals.values()]
          .filter((one) => matches(one, query))
          .sort((a, b) => (a.id < b.id ? 1 : -1))
          .slice(0, query.limit)
      ),

    series: ({ bucketMs, fromMs, toMs }) =>
      Effect.sync(() => {
        const counts = new Map<string, { startMs: number; type: string; count: number }>()
        for (const { count, createdAtMs, type } of refusals.values()) {
          if (createdAtMs < fromMs || createdAtMs >= toMs) continue
          const startMs = Math.floor(createdAtMs / bucketMs) * bucketMs
          const sum = counts.get(`${startMs} ${type}`) ?? { startMs, type, count: 0 }
          counts.set(`${startMs} ${type}`, { ...sum, count: sum.count + count })
        }
        return [...counts.values()].sort((a, b) => a.startMs - b.startMs || (a.type < b.type ? -1 : 1))
      }),

    sums: ({ fromMs, groupBy, limit, toMs, ...of }) =>
      Effect.sync(() => {
        const counts = new Map<string | null, number>()
        for (const one of refusals.values()) {
          if (one.createdAtMs < fromMs || one.createdAtMs >= toMs) continue
          if ((of.keyId ?? one.keyId) !== one.keyId || (of.ownerId ?? one.ownerId) !== one.ownerId) continue
          if ((of.model ?? one.model) !== one.model) continue
          const group = groupBy === null ? null : groups[groupBy](one)
          counts.set(group, (counts.get(group) ?? 0) + one.count)
        }
        return [...counts]
          .map(([group, count]) => ({ group, count }))
          .sort((a, b) => b.count - a.count || (b.group === null || (a.group !== null && a.group < b.group) ? -1 : 1))
          .slice(0, limit)
      }),

    deleteBefore: (beforeMs, limit) =>
      Effect.sync(() => {
        const old = [...refusals.keys()].filter((id) => idTimeMs(id) < beforeMs).slice(0, limit)
        for (const id of old) refusals.delete(id)
        return old.length
      })
  }
})
