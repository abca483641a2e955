/**
 * The generation of a request whose process died: nobody knows what it produced, so it is charged what it had reserved, and says so
 * (`usageSource: "estimated"`, error type `internal_error`, no tokens, latency 0).
 */
import { type Generation } from "../domain/Generation.ts"
import { type NanoUsd, zeroCost } from "../domain/Money.ts"
import type { Reservation } from "./Ledger.ts"

/** `amountNano`: all that is held, `extendedNano` of it added later. */
export type ExpiredReservation = Pick<
  Reservation,
  "generationId" | "keyId" | "ownerId" | "model" | "month" | "amountNano" | "createdAtMs"
> & { readonly extendedNano: NanoUsd }

export const estimatedGeneration = (reservation: ExpiredReservation): Generation => ({
  id: reservation.generationId,
  keyId: reservation.keyId,
  ownerId: reservation.ownerId,
  model: reservation.model,
  provider: "unknown",
  createdAtMs: reservation.createdAtMs,
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
  usageSource: "estimated",
  cost: {
    ...zeroCost,
    completionNano: reservation.amountNano,
    totalNano: reservation.amountNano,
    billedNano: reservation.amountNano
  },
  latencyMs: 0,
  timeToFirstTokenMs: null,
  fallbackUsed: false,
  cacheHit: false,
  streamed: false,
  cancelled: false,
  finishReason: null,
  errorType: "internal_error",
  attempts: [],
  excluded: [],
  price: { prompt: 0, completion: 0, cachedPrompt: null },
  reservation: {
    reservedNano: reservation.amountNano - reservation.extendedNano,
    extendedNano: reservation.extendedNano,
    settledNano: reservation.amountNano
  }
})
