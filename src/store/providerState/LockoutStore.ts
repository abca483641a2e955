/**
 * Names that are closed for a while, and stay under suspicion until they are lifted: once their time is over, one caller at a time may try
 * them. Whoever shares a store keeps to what any of them has closed.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { makeLockoutRedis } from "./LockoutRedis.ts"
import { type StoreError } from "../StoreError.ts"

export class LockoutStore extends Context.Service<
  LockoutStore,
  {
    /** Closes `name` for `ms` from now on. Answers whether it is news: it was lifted since the last time, or never was closed. */
    readonly close: (name: string, ms: number) => Effect.Effect<boolean, StoreError>
    /**
     * For how long one of `names` is still closed, in milliseconds. 0: the caller may try, and those of them that were not lifted are closed
     * to everybody else for `holdMs`.
     */
    readonly claim: (names: ReadonlyArray<string>, holdMs: number) => Effect.Effect<number, StoreError>
    readonly lift: (names: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
    /** Every name that was not lifted, and for how long it is closed, in milliseconds; 0: it may be claimed. */
    readonly all: Effect.Effect<ReadonlyMap<string, number>, StoreError>
  }
>()("tollgate/store/providerState/LockoutStore") {
  /** Of this process alone. */
  static readonly layerMemory = Layer.sync(LockoutStore, () => {
    /** Unix milliseconds. */
    const until = new Map<string, number>()
    const leftOf = (name: string, nowMs: number) => Math.max(0, (until.get(name) ?? 0) - nowMs)
    return {
      close: (name, ms) =>
        Effect.map(Clock.currentTimeMillis, (nowMs) => {
          const isNews = !until.has(name)
          until.set(name, nowMs + ms)
          return isNews
        }),
      claim: (names, holdMs) =>
        Effect.map(Clock.currentTimeMillis, (nowMs) => {
          const closedMs = names.reduce((longest, name) => Math.max(longest, leftOf(name, nowMs)), 0)
          if (closedMs === 0) for (const name of names) if (until.has(name)) until.set(name, nowMs + holdMs)
          return closedMs
        }),
      lift: (names) => Effect.sync(() => names.forEach((name) => until.delete(name))),
      all: Effect.map(
        Clock.currentTimeMillis,
        (nowMs) => new Map(Array.from(until.keys(), (name) => [name, leftOf(name, nowMs)]))
      )
    }
  })

  /** Shared by all processes on one Redis; an hour after the last name was closed all are forgotten. */
  static readonly layerRedis = Layer.effect(LockoutStore, makeLockoutRedis)
}
