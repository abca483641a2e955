/** What the rate limit took for a prompt becomes what the request used, its output included. */
import { Effect } from "effect"
import { type Limits } from "../../store/limits/Limits.ts"
import { holderOf, type Order } from "../request/Order.ts"

/** `used`: tokens of prompt and output. Never fails: a limit store that is away lets the minute refill the bucket. */
export const makeTokenCorrection =
  (limits: Limits["Service"]) =>
  (order: Order, used: number, nowMs: number): Effect.Effect<void> => {
    const { account, caller, facts } = order
    const delta = used - account.takenTokens
    if (delta === 0) return Effect.void
    account.takenTokens = used
    return Effect.matchCause(limits.correct({ ...holderOf(caller), delta, nowMs }), {
      onFailure: () => undefined,
      onSuccess: (tokens) => {
        if (facts.limits !== null) facts.limits = { ...facts.limits, tokens }
      }
    })
  }
