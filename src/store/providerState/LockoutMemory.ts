/** Lockouts in the memory of one process. */
import { Clock, Effect, Layer } from "effect"
import { LockoutStore } from "./LockoutStore.ts"

/** Each build starts empty. */
export const layer = Layer.sync(LockoutStore, () => {
  /** Name to the end of its lockout, in Unix milliseconds. */
  const until = new Map<string, number>()
  const leftOf = (name: string, nowMs: number) => Math.max(0, (until.get(name) ?? 0) - nowMs)
  return {
    close: (name, ms) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        const isNew = !until.has(name)
        until.set(name, nowMs + ms)
        return isNew
      }),
    claim: (names, holdMs) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        const leftMs = names.reduce((longest, name) => Math.max(longest, leftOf(name, nowMs)), 0)
        if (leftMs === 0) for (const name of names) if (until.has(name)) until.set(name, nowMs + holdMs)
        return leftMs
      }),
    lift: (names) => Effect.sync(() => names.forEach((name) => until.delete(name))),
    all: Effect.map(
      Clock.currentTimeMillis,
      (nowMs) => new Map(Array.from(until.keys(), (name) => [name, leftOf(name, nowMs)]))
    )
  }
})
