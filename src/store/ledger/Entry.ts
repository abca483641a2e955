/**
 * The entries that are written to the ledger, and the parameters of `ledger_write`
 * (migrations/0001) for a group of them. The parameters are arrays of values, not objects: the
 * database reads them in a third of the time.
 */
import { type Generation } from "../../domain/Generation.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { generationValues } from "./GenerationRow.ts"
import type { Reservation } from "./Ledger.ts"
import { progressValue } from "./ProgressRow.ts"
import { storableName, storableNano } from "./StorableGeneration.ts"
import { storableJson } from "../sql/StorableJson.ts"

export type LedgerEntry =
  | { readonly _tag: "Settle"; readonly generation: Generation; readonly month: string }
  /** Settles without billing anything, if another `amountNano` would fit below the cap. */
  | {
      readonly _tag: "Replay"
      readonly generation: Generation
      readonly month: string
      readonly amountNano: NanoUsd
      readonly capNano: NanoUsd
    }
  | { readonly _tag: "Void"; readonly id: string }
  | { readonly _tag: "Extend"; readonly id: string; readonly amountNano: NanoUsd; readonly capNano: NanoUsd | null }
  | { readonly _tag: "Reserve"; readonly reservation: Reservation }
  /** Settles only if the reservation still has this lease and this amount. */
  | {
      readonly _tag: "Expire"
      readonly generation: Generation
      readonly month: string
      readonly leaseUntilMs: number
      readonly amountNano: NanoUsd
    }

/** The members are JSON texts. */
export interface GroupParameters {
  readonly settled: string
  readonly voided: ReadonlyArray<string>
  readonly asked: string
  readonly checked: string
}

export const idOf = (entry: LedgerEntry): string => {
  switch (entry._tag) {
    case "Settle":
    case "Replay":
    case "Expire":
      return entry.generation.id
    case "Void":
    case "Extend":
      return entry.id
    case "Reserve":
      return entry.reservation.generationId
  }
}

/** `entries` must have distinct ids. */
export const groupParameters = (entries: ReadonlyArray<LedgerEntry>): GroupParameters => {
  const settled: Array<ReadonlyArray<unknown>> = []
  const voided: Array<string> = []
  const asked: Array<ReadonlyArray<unknown>> = []
  const checked: Array<ReadonlyArray<unknown>> = []
  for (const entry of entries) {
    switch (entry._tag) {
      case "Settle":
        settled.push(generationValues(entry.generation, entry.month))
        break
      case "Replay":
        settled.push(generationValues(entry.generation, entry.month))
        checked.push([
          entry.generation.id,
          entry.generation.keyId,
          entry.month,
          storableNano(entry.amountNano),
          entry.capNano
        ])
        break
      case "Expire":
        settled.push([...generationValues(entry.generation, entry.month), entry.leaseUntilMs, entry.amountNano])
        break
      case "Void":
        voided.push(entry.id)
        break
      case "Extend":
        asked.push([entry.id, storableNano(entry.amountNano), entry.capNano])
        break
      case "Reserve":
        asked.push(reservationValues(entry.reservation))
    }
  }
  return {
    settled: storableJson(settled),
    voided,
    asked: storableJson(asked),
    checked: storableJson(checked)
  }
}

/** A reservation as an array, for JSON. */
export const reservationValues = (one: Reservation): ReadonlyArray<unknown> => [
  one.generationId,
  storableNano(one.amountNano),
  one.capNano,
  one.keyId,
  one.month,
  one.ownerId,
  storableName(one.model),
  one.createdAtMs,
  one.processId,
  one.leaseMs,
  progressValue(one.progress ?? null)
]
