/** The cost of an answer beyond its reservation, which is known at its end. */
import { Effect } from "effect"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { type Ledger } from "../../store/ledger/Ledger.ts"
import { remainingNano } from "./IncrementalReservation.ts"
import { type MeteredRequest } from "./Reservation.ts"

/** What an answer cost beyond what is held for it. Keys without a cap need not hold more. */
export const missingNano = ({ plan, reservation }: MeteredRequest, billedNano: NanoUsd): NanoUsd =>
  plan.caller.key.monthlyBudgetNano === null ? 0 : Math.max(0, billedNano - reservation.heldNano)

/**
 * Reserves what an answer cost beyond its reservation. Returns the part that the cap has no room
 * for, which is not charged.
 */
export const makeTopUp = (ledger: Ledger["Service"]) =>
  Effect.fnUntraced(function* (request: MeteredRequest, billedNano: NanoUsd) {
    const { plan, reservation } = request
    const capNano = plan.caller.key.monthlyBudgetNano
    const missing = missingNano(request, billedNano)
    if (capNano === null || missing === 0) return 0
    const first = yield* ledger.extend(plan.generationId, missing, capNano)
    const room =
      first._tag === "Reserved" ? missing : Math.max(0, Math.min(missing, remainingNano(plan, first.balance)))
    const last =
      first._tag === "Reserved" || room === 0 ? first : yield* ledger.extend(plan.generationId, room, capNano)
    if (last._tag === "Refused") return missing
    reservation.extend(room)
    return missing - room
  })
