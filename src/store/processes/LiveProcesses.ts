/**
 * The processes that live on one database, so that a process which counts limits for itself finds out that it is not alone. A process
 * lives as long as it renews its entry; all times are the store's.
 */
import { Context, type Effect, Layer, type Option } from "effect"
import { makeLiveProcessesMemory } from "./LiveProcessesMemory.ts"
import { makeLiveProcessesSql } from "./LiveProcessesSql.ts"
import { type StoreError } from "../StoreError.ts"

/** A process that has not renewed its entry for so long is dead. */
export const LIFE_MS = 15_000

export interface ProcessEntry {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** Limits are counted in Redis, together with the others that do so. */
  readonly sharesLimits: boolean
}

/** A living process that limits are not shared with. */
export interface Rival {
  readonly host: string
  readonly pid: number
  readonly startedAtMs: number
}

export class LiveProcesses extends Context.Service<
  LiveProcesses,
  {
    /** Adds a process, unless it does not share limits and has a rival, which is answered. Of several at once, one gets in. */
    readonly enter: (entry: ProcessEntry) => Effect.Effect<Option.Option<Rival>, StoreError>
    /** Keeps a process alive, and answers the rival that it has got since, if it does not share limits. */
    readonly renew: (entry: ProcessEntry) => Effect.Effect<Option.Option<Rival>, StoreError>
    readonly leave: (id: string) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/processes/LiveProcesses") {
  static readonly layer = Layer.effect(LiveProcesses, makeLiveProcessesSql(LIFE_MS))

  /** Each build starts empty. */
  static readonly layerMemory = Layer.effect(LiveProcesses, makeLiveProcessesMemory(LIFE_MS))
}
