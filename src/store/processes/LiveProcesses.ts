/**
 * The processes that use one database. A process that counts limits for itself learns from it
 * whether it is alone. An entry lives as long as its process renews it, and all times are the
 * store's.
 */
import { Context, type Effect, type Option } from "effect"
import { type StoreError } from "../StoreError.ts"

/** A process that has not renewed its entry for this long counts as dead. */
export const LIFE_MS = 15_000

export interface ProcessEntry {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** True when the process counts limits in Redis, together with the others that do. */
  readonly sharesLimits: boolean
}

/** A live process that does not share its limits with this one. */
export interface Rival {
  readonly host: string
  readonly pid: number
  readonly startedAtMs: number
}

export class LiveProcesses extends Context.Service<
  LiveProcesses,
  {
    /**
     * Adds a process. A process that does not share limits is refused while there is a rival, which
     * is returned. Of several that enter at once, one succeeds.
     */
    readonly enter: (entry: ProcessEntry) => Effect.Effect<Option.Option<Rival>, StoreError>
    /**
     * Renews a process' entry. For a process that does not share limits, returns a rival that has
     * appeared since.
     */
    readonly renew: (entry: ProcessEntry) => Effect.Effect<Option.Option<Rival>, StoreError>
    readonly leave: (id: string) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/processes/LiveProcesses") {}
