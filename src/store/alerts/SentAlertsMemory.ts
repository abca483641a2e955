/** Sent alerts in memory, for tests and trials: lost when the process ends. */
import { Effect, Layer } from "effect"
import { type BudgetAlert, SentAlerts } from "./SentAlerts.ts"

/** Each build starts empty. */
export const layer = Layer.sync(SentAlerts, () => {
  const sent = new Map<string, BudgetAlert>()
  return {
    add: (alert) =>
      Effect.sync(() => {
        const key = `${alert.keyId} ${alert.month} ${alert.percent} ${alert.capNano}`
        if (sent.has(key)) return false
        sent.set(key, alert)
        return true
      }),

    deleteBefore: (month) =>
      Effect.sync(() => {
        for (const [key, alert] of sent) if (alert.month < month) sent.delete(key)
      })
  }
})
