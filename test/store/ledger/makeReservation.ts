/** A reservation with an id of its own, with changes. */
import { idBound } from "../../../src/domain/Ids.ts"
import { type Reservation } from "../../../src/store/ledger/Ledger.ts"

/** When the requests of these tests begin, and its month. */
export const T0 = Date.UTC(2026, 10, 21, 12)
export const MONTH = "2026-11"

let count = 0

export const freshId = (): string => `${idBound("gen", T0)}${String(++count).padStart(20, "0")}`

export const makeReservation = (keyId: string, changes: Partial<Reservation> = {}): Reservation => ({
  generationId: freshId(),
  keyId,
  ownerId: null,
  model: "mock/echo",
  month: MONTH,
  amountNano: 100,
  capNano: 1_000,
  createdAtMs: T0,
  leaseMs: 60_000,
  processId: "process-1",
  ...changes
})
