/** Live processes in memory, for tests. Same guarantees as the table. */
import { Clock, Effect, Option, Layer } from "effect"
import { LIFE_MS, LiveProcesses, type ProcessEntry, type Rival } from "./LiveProcesses.ts"

interface Living extends Rival {
  heartbeatAtMs: number
}

export const makeLiveProcessesMemory = (lifeMs: number): Effect.Effect<LiveProcesses["Service"]> =>
  Effect.map(Clock.Clock, (clock) => {
    const living = new Map<string, Living>()

    const rivalOf = ({ id, sharesLimits }: ProcessEntry, nowMs: number): Option.Option<Rival> => {
      for (const [other, { heartbeatAtMs }] of living) if (heartbeatAtMs <= nowMs - lifeMs) living.delete(other)
      if (sharesLimits) return Option.none()
      const found = [...living].find(([other]) => other !== id)?.[1]
      return Option.map(Option.fromUndefinedOr(found), ({ host, pid, startedAtMs }) => ({ host, pid, startedAtMs }))
    }

    const put = ({ host, id, pid }: ProcessEntry, nowMs: number): void => {
      living.set(id, { host, pid, startedAtMs: living.get(id)?.startedAtMs ?? nowMs, heartbeatAtMs: nowMs })
    }

    return {
      enter: (entry) =>
        Effect.sync(() => {
          const nowMs = clock.currentTimeMillisUnsafe()
          const rival = rivalOf(entry, nowMs)
          if (Option.isNone(rival)) put(entry, nowMs)
          return rival
        }),

      renew: (entry) =>
        Effect.sync(() => {
          const nowMs = clock.currentTimeMillisUnsafe()
          put(entry, nowMs)
          return rivalOf(entry, nowMs)
        }),

      leave: (id) => Effect.sync(() => void living.delete(id))
    }
  })

/** Each build starts empty. */
export const layer = Layer.effect(LiveProcesses, makeLiveProcessesMemory(LIFE_MS))
