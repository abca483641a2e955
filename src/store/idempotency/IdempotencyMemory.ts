/**
 * Idempotency keys in memory, for tests and trials. Same guarantees as the table, until the process
 * ends.
 */
import { Effect, Layer } from "effect"
import { type Claim, type ClaimRef, IdempotencyStore } from "./IdempotencyStore.ts"

interface Entry extends Claim {
  readonly reply: Uint8Array | null
}

export const makeIdempotencyMemory = (): IdempotencyStore["Service"] => {
  const entries = new Map<string, Entry>()
  /** The entry that this holder still holds, if any. */
  const heldBy = ({ holder, id }: ClaimRef): Entry | undefined => {
    const entry = entries.get(id)
    return entry?.holder === holder && entry.reply === null ? entry : undefined
  }

  return {
    claim: (claim) =>
      Effect.sync(() => {
        const entry = entries.get(claim.id)
        if (
          entry === undefined ||
          entry.expiresAtMs <= claim.nowMs ||
          (entry.reply === null && entry.leaseUntilMs <= claim.nowMs)
        ) {
          entries.set(claim.id, { ...claim, reply: null })
          return { _tag: "Claimed" }
        }
        const { fingerprint, reply } = entry
        return reply === null ? { _tag: "Running", fingerprint } : { _tag: "Completed", fingerprint, reply }
      }),

    renew: (claims, leaseUntilMs) =>
      Effect.sync(() => {
        for (const claim of claims) {
          const entry = heldBy(claim)
          if (entry !== undefined) entries.set(claim.id, { ...entry, leaseUntilMs })
        }
      }),

    complete: (claim, reply, expiresAtMs) =>
      Effect.sync(() => {
        const entry = heldBy(claim)
        if (entry !== undefined) entries.set(claim.id, { ...entry, reply, expiresAtMs })
      }),

    release: (claim) =>
      Effect.sync(() => {
        if (heldBy(claim) !== undefined) entries.delete(claim.id)
      }),

    deleteExpired: (nowMs, limit) =>
      Effect.sync(() => {
        const expired = [...entries.values()].filter(({ expiresAtMs }) => expiresAtMs <= nowMs).slice(0, limit)
        for (const { id } of expired) entries.delete(id)
        return expired.length
      })
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(IdempotencyStore, makeIdempotencyMemory)
