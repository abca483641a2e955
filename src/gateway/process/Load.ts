/**
 * How much this process has to do at once: requests to models, bytes of bodies, and how late its event loop is. Beyond the limits it
 * is overloaded, and whoever lets requests in refuses new ones. It outlives a reload.
 */
import { Context, Effect, Layer } from "effect"
import { getHeapStatistics } from "node:v8"
import { EventLoopDelay } from "./EventLoopDelay.ts"

export interface LoadLimits {
  readonly maxRequests: number
  /** `null`: a quarter of the memory that JavaScript may use. */
  readonly maxBodiesBytes: number | null
  readonly maxLoopDelayMs: number
}

/** What a request takes, from when it is let in until it ended. */
export interface Share {
  isCounted: boolean
  bodyBytes: number
}

export class Load extends Context.Service<
  Load,
  {
    /** Whether a further request to a model is too much. */
    readonly isOver: (limits: LoadLimits) => boolean
    /** Counts a request to a model. */
    readonly count: (share: Share) => void
    /** Takes room for more of a body; false: there is none. */
    readonly hold: (share: Share, bytes: number, limits: LoadLimits) => boolean
    /** The request has ended: what it took is free. */
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
