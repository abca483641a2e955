/** Outages in memory, for tests and trials: lost when the process ends. */
import { Effect, Layer } from "effect"
import { idBound } from "../../domain/Ids.ts"
import { type Outage } from "../../domain/Outage.ts"
import { continues, KEPT_MS, MOST_KEPT, type OutageChange, OutageStore } from "./OutageStore.ts"

const byNewest = (a: Outage, b: Outage) => (a.id < b.id ? 1 : -1)

const withChange = (before: ReadonlyArray<Outage>, change: OutageChange): ReadonlyArray<Outage> => {
  const { closedAtMs, closedBy, model, opened, provider } = change
  const [last, ...others] = before
  if (opened === null)
    return last === undefined || last.closedAtMs !== null ? before : [{ ...last, closedAtMs, closedBy }, ...others]
  const { atMs, cause, id, openings, process } = opened
  if (last !== undefined && continues(last, atMs))
    return [{ ...last, closedAtMs, closedBy, openings: last.openings + openings, cause, process }, ...others]
  const ended: ReadonlyArray<Outage> =
    last?.closedAtMs === null ? [{ ...last, closedAtMs: atMs, closedBy: "restart" }, ...others] : before
  return [
    { id, provider, model, openedAtMs: atMs, closedAtMs, closedBy, openings, cause, process },
    ...ended.filter((one) => one.id >= idBound("out", atMs - KEPT_MS)).slice(0, MOST_KEPT - 1)
  ]
}

/** Each build starts empty. */
export const layer = Layer.sync(OutageStore, () => {
  /** Of each circuit, newest first. */
  const outages = new Map<string, ReadonlyArray<Outage>>()
  return {
    record: (change) =>
      Effect.sync(() => {
        const circuit = JSON.stringify([change.provider, change.model ?? ""])
        outages.set(circuit, withChange(outages.get(circuit) ?? [], change))
      }),

    latest: (fromMs) =>
      Effect.sync(() =>
        [...outages]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .flatMap(([, [outage, ...others]]) =>
            outage === undefined
              ? []
              : [
                  {
                    outage,
                    openings: [outage, ...others]
                      .filter(({ openedAtMs }) => openedAtMs >= fromMs)
                      .reduce((sum, { openings }) => sum + openings, 0)
                  }
                ]
          )
      ),

    list: (provider, limit) =>
      Effect.sync(() =>
        [...outages.values()]
          .flat()
          .filter((one) => one.provider === provider)
          .sort(byNewest)
          .slice(0, limit)
      )
  }
})
