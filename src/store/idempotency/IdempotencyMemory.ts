/**
 * Idempotency keys in memory, for tests and trials. Same guarantees as the table, until the process
 * ends.
 */
import { Effect, Layer } from "effect"
import { type Claim, type Held, IdempotencyStore } from "./IdempotencyStore.ts"

interface Entry extends Claim {
  readonly reply: Uint8Array | null
}

export const makeIdempotencyMemory = (): IdempotencyStore["Service"] => {
  const entries = new Map<string, Entry>()
  /** The entry that this holder still holds, if any. */
  const heldBy = ({ holder, id }: Held): Entry | undefined => {
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
        return reply === null ? { _tag: "Running", fingerprint } : { _tag: "Kept", fingerprint, reply }
      }),

    renew: (held, leaseUntilMs) =>
      Effect.sync(() => {
        for (const one of held) {
          const entry = heldBy(one)
          if (entry !== undefined) entries.set(one.id, { ...entry, leaseUntilMs })
        }
      }),

    keep: (held, reply, expiresAtMs) =>
      Effect.sync(() => {
        const entry = heldBy(held)
        if (entry !== undefined) entries.set(held.id, { ...entry, reply, expiresAtMs })
      }),

    free: (held) =>
      Effect.sync(() => {
        if (heldBy(held) !== undefined) entries.delete(held.id)
      }),

    forget: (nowMs, limit) =>
      Effect.sync(() => {
        const expired = [...entries.values()].filter(({ expiresAtMs }) => expiresAtMs <= nowMs).slice(0, limit)
        for (const { id } of expired) entries.delete(id)
        return expired.length
      })
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(IdempotencyStore, makeIdempotencyMemory)
