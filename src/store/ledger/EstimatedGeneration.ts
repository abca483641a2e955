/**
 * Makes the generation of a request whose process died. The charge comes from the progress in the
 * last heartbeat: the prompt, and the output so far. Without progress the reserved amount is
 * charged. The generation is marked by `usageSource: "estimated"` and the error type
 * `internal_error`.
 */
import { type Generation } from "../../domain/Generation.ts"
import { type NanoUsd, zeroCost } from "../../domain/pricing/Money.ts"
import { isCallClass } from "../../domain/pricing/UsageClass.ts"
import type { Progress, Reservation } from "./Ledger.ts"

/** `amountNano` is the whole amount held; `extendedNano` of it was added later. */
export type ExpiredReservation = Pick<
  Reservation,
  "generationId" | "keyId" | "ownerId" | "model" | "month" | "amountNano" | "createdAtMs"
> & { readonly extendedNano: NanoUsd; readonly progress: Progress | null }

type Known = Pick<
  Generation,
  "model" | "provider" | "usage" | "cost" | "latencyMs" | "timeToFirstTokenMs" | "streamed" | "price" | "request"
>

const knownFrom = (progress: Progress): Known => {
  const { completionNano, completionTokens, lines, markupNano, model, promptNano, promptTokens, provider } = progress
  const totalNano = promptNano + completionNano
  const feesNano = lines.reduce((sum, { class: name, nano }) => sum + (isCallClass(name) ? nano : 0), 0)
  return {
    model,
    provider,
    usage: { promptTokens, completionTokens, cachedTokens: 0 },
    cost: {
      ...zeroCost,
      promptNano,
      completionNano: completionNano - feesNano,
      feesNano,
      totalNano,
      markupNano,
      billedNano: totalNano + markupNano,
      lines
    },
    latencyMs: progress.latencyMs,
    timeToFirstTokenMs: progress.timeToFirstTokenMs,
    streamed: progress.streamed,
    price: progress.price,
    ...(progress.request === undefined ? {} : { request: { ...progress.request, status: statusOf(progress) } })
  }
}

/** A stream that had begun was cut; any other request got no response. */
const statusOf = ({ streamed, timeToFirstTokenMs }: Progress): number =>
  streamed && timeToFirstTokenMs !== null ? 200 : 500

const knownOfNothing = ({ amountNano, model }: ExpiredReservation): Known => ({
  model,
  provider: "unknown",
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
  cost: { ...zeroCost, completionNano: amountNano, totalNano: amountNano, billedNano: amountNano },
  latencyMs: 0,
  timeToFirstTokenMs: null,
  streamed: false,
  price: { prompt: 0, completion: 0, cachedPrompt: null }
})

export const estimatedGeneration = (reservation: ExpiredReservation): Generation => {
  const known = reservation.progress === null ? knownOfNothing(reservation) : knownFrom(reservation.progress)
  return {
    ...known,
    id: reservation.generationId,
    keyId: reservation.keyId,
    ownerId: reservation.ownerId,
    createdAtMs: reservation.createdAtMs,
    usageSource: "estimated",
    fallbackUsed: false,
    cacheHit: false,
    cancelled: false,
    finishReason: null,
    errorType: "internal_error",
    attempts: [],
    excluded: [],
    reservation: {
      reservedNano: reservation.amountNano - reservation.extendedNano,
      extendedNano: reservation.extendedNano,
      settledNano: known.cost.billedNano
    }
  }
}
