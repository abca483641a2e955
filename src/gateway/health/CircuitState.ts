/** The state of a circuit, and what is published when it changes. */
import { type Candidate } from "../../domain/Catalog.ts"
import { type OutageCause } from "../../domain/Outage.ts"

export interface CircuitState {
  readonly state: "closed" | "open" | "half_open"
  /** The time until an open circuit is probed, in milliseconds. */
  readonly openForMs: number | null
  /** Since when this process knows that it is not closed, in Unix milliseconds. */
  readonly sinceMs: number | null
}

export const closed: CircuitState = { state: "closed", openForMs: null, sinceMs: null }

/** A circuit that this process opened or closed. */
export interface CircuitChange {
  /** `credentials`: the provider refuses the gateway's credentials, or accepts them again. */
  readonly of: "circuit" | "credentials"
  readonly provider: string
  /** Null: every model of the provider. */
  readonly model: string | null
  readonly isOpen: boolean
  readonly atMs: number
  /** The failure that opened it. Null if it closed. */
  readonly cause: OutageCause | null
}

/** A provider began to refuse the gateway's credentials. Published once, until it answers again. */
export interface Refusal {
  readonly provider: string
  readonly model: string
  readonly status: number
  /** The position of the refused key, if the provider has several. */
  readonly key?: number
}

export const keyOf = ({ offer, provider }: Candidate): string => `${provider.slug}|${offer.id}`

/** The provider and the model of a circuit's name. */
export const namesOf = (key: string): { readonly provider: string; readonly model: string } => {
  const at = key.indexOf("|")
  return { provider: key.slice(0, at), model: key.slice(at + 1) }
}
