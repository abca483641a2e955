/** Counts in the memory of one process. They do not expire. */
import { Effect, Layer } from "effect"
import { StatsStore } from "./StatsStore.ts"

/** Each build starts empty. */
export const layer = Layer.sync(StatsStore, () => {
  const slots = new Map<number, Map<string, number>>()
  return {
    add: (slot, counts) =>
      Effect.sync(() => {
        const kept = slots.get(slot) ?? new Map<string, number>()
        slots.set(slot, kept)
        for (const [name, count] of counts) kept.set(name, (kept.get(name) ?? 0) + count)
      }),
    read: (wanted) => Effect.sync(() => wanted.map((slot) => new Map(slots.get(slot))))
  }
})
