/** Corrects the tokens that the rate limit took for a prompt to the usage, with the output. */
import { Effect } from "effect"
import { type Limits } from "../../store/limits/Limits.ts"
import { holderOf } from "../request/Caller.ts"
import { type MeteredRequest } from "./Reservation.ts"

/**
 * `used`: tokens of the prompt and the output. Never fails: if the limit store is away, the bucket
 * refills within a minute.
 */
export const makeTokenCorrection =
  (limits: Limits["Service"]) =>
  (
    { plan, reservation }: Pick<MeteredRequest, "plan" | "reservation">,
    used: number,
    nowMs: number
  ): Effect.Effect<void> => {
    const delta = used - reservation.takenTokens
    if (delta === 0) return Effect.void
    reservation.setTakenTokens(used)
    return Effect.matchCauseEager(limits.correct({ ...holderOf(plan.caller), delta, nowMs }), {
      onFailure: () => undefined,
      onSuccess: (tokens) => reservation.note({ tokens })
    })
  }
