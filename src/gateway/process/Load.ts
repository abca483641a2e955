/**
 * The current load of this process: requests to models, bytes of bodies, and event loop delay.
 * Beyond the limits the process is overloaded, and new requests to models are refused. The counts
 * survive a reload of the settings.
 */
import { Context, Effect, Layer } from "effect"
import { getHeapStatistics } from "node:v8"
import { EventLoopDelay } from "./EventLoopDelay.ts"

export interface LoadLimits {
  readonly maxRequests: number
  /** Null: a quarter of the JavaScript heap limit. */
  readonly maxBodiesBytes: number | null
  readonly maxLoopDelayMs: number
}

/** What one request holds, from its admission to its end. */
export interface Share {
  isCounted: boolean
  bodyBytes: number
}

export class Load extends Context.Service<
  Load,
  {
    /** Whether another request to a model would be too much. */
    readonly isOver: (limits: LoadLimits) => boolean
    /** Counts a request to a model. */
    readonly count: (share: Share) => void
    /** Reserves room for more bytes of a body. False when there is none. */
    readonly hold: (share: Share, bytes: number, limits: LoadLimits) => boolean
    /** Releases all that an ended request held. */
    readonly release: (share: Share) => void
  }
>()("tollgate/gateway/process/Load") {
  static readonly layer = Layer.effect(
    Load,
    Effect.gen(function* () {
      const eventLoopDelay = yield* EventLoopDelay
      const quarter = Math.floor(getHeapStatistics().heap_size_limit / 4)
      let requests = 0
      let bodyBytes = 0
      const bytesOf = ({ maxBodiesBytes }: LoadLimits): number => maxBodiesBytes ?? quarter
      return Load.of({
        isOver: (limits) =>
          requests >= limits.maxRequests ||
          bodyBytes >= bytesOf(limits) ||
          eventLoopDelay.recentMs() > limits.maxLoopDelayMs,
        count: (share) => {
          share.isCounted = true
          requests++
        },
        hold: (share, bytes, limits) => {
          if (bodyBytes + bytes > bytesOf(limits)) return false
          share.bodyBytes += bytes
          bodyBytes += bytes
          return true
        },
        release: (share) => {
          if (share.isCounted) requests--
          bodyBytes -= share.bodyBytes
          share.isCounted = false
          share.bodyBytes = 0
        }
      })
    })
  )
}
