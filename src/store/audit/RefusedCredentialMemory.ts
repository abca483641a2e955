/** Refused credentials in memory, for tests and trials: lost when the process ends. */
import { Effect, Layer } from "effect"
import { type RefusedAddress, type RefusedCount, RefusedCredentialStore } from "./RefusedCredentialStore.ts"

const keyOf = ({ address, credential, minuteMs }: RefusedCount): string => `${minuteMs} ${credential} ${address}`

/** Each build starts empty. */
export const layer = Layer.sync(RefusedCredentialStore, () => {
  const counts = new Map<string, RefusedCount>()
  return {
    add: (added) =>
      Effect.sync(() => {
        for (const one of added) {
          const old = counts.get(keyOf(one))
          const sum =
            old === undefined ? one : { ...one, count: old.count + one.count, lastMs: Math.max(old.lastMs, one.lastMs) }
          counts.set(keyOf(one), sum)
        }
      }),

    list: ({ address, fromMs, limit, toMs }) =>
      Effect.sync(() => {
        const addresses = new Map<string, RefusedAddress>()
        for (const one of counts.values()) {
          if (one.minuteMs < fromMs || one.minuteMs >= toMs || (address ?? one.address) !== one.address) continue
          const old = addresses.get(one.address)
          addresses.set(one.address, {
            address: one.address,
            count: (old?.count ?? 0) + one.count,
            firstMs: Math.min(old?.firstMs ?? Infinity, one.minuteMs),
            lastMs: Math.max(old?.lastMs ?? 0, one.lastMs),
            byCredential: {
              ...old?.byCredential,
              [one.credential]: (old?.byCredential[one.credential] ?? 0) + one.count
            }
          })
        }
        return [...addresses.values()]
          .sort((a, b) => b.lastMs - a.lastMs || (a.address < b.address ? -1 : 1))
          .slice(0, limit)
      }),

    deleteOld: (beforeMs, most) =>
      Effect.sync(() => {
        const newestFirst = [...counts].sort(([, a], [, b]) => b.minuteMs - a.minuteMs)
        newestFirst.forEach(([key, { minuteMs }], at) => {
          if (at >= most || minuteMs < beforeMs) counts.delete(key)
        })
      })
  }
})
