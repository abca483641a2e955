/**
 * Writes what many fibers want written in groups: one write carries all that came while the one before was running, and starts at
 * once when none is. Each caller gets its own entry's outcome. Entries of one id are written one after the other, in the order in which
 * they came, never in one group. An interrupted caller's entry is withdrawn, unless it was sent already: then it is written.
 *
 * A group that fails with a `StoreError` fails all of its callers. One that dies is written again in halves, so that an entry that
 * cannot be written takes nobody with it.
 */
import { Cause, Clock, Effect, type Scope } from "effect"
import { type StoreError } from "../StoreError.ts"

/** A write that fails after this long was not refused but never answered: who waits fails too, and not after as long again. */
const SILENT_AFTER_MS = 1_000

/** What comes within this time of a write's beginning waits for its end: larger groups cost less than shorter waits are worth. */
const LONG_MS = 10

export interface WriteBatcher<Entry, Outcome> {
  readonly write: (id: string, entry: Entry) => Effect.Effect<Outcome, StoreError>
  /** Since when the oldest entry waits that is not written yet, in milliseconds; 0 when none does. */
  readonly lagMs: Effect.Effect<number>
}

interface Waiting<Entry, Outcome> {
  readonly id: string
  readonly entry: Entry
  readonly sinceMs: number
  readonly resume: (outcome: Effect.Effect<Outcome, StoreError>) => void
  withdrawn: boolean
  /** The next entry of the same id. */
  next: Waiting<Entry, Outcome> | null
}

/** Closing the scope waits for the writes under way. */
export const makeWriteBatcher = <Entry, Outcome>(options: {
  /** One transaction; an outcome for each entry, in their order. No id is twice in a group. */
  readonly writeGroup: (entries: ReadonlyArray<Entry>) => Effect.Effect<ReadonlyArray<Outcome>, StoreError>
  /** How many writes may run at once: another one begins where those under way take long. */
  readonly lanes: number
  /** How many entries a write carries at most. */
  readonly groupSize: number
}): Effect.Effect<WriteBatcher<Entry, Outcome>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type One = Waiting<Entry, Outcome>
    const clock = yield* Clock.Clock
    const runFork = Effect.runForkWith(yield* Effect.context())
    /** The first entry of each id that is not being written. */
    let ready: Array<One> = []
    /** The last entry of each id that waits or is being written. */
    const lasts = new Map<string, One>()
    const written = new Set<ReadonlyArray<One>>()
    let running = 0
    /** When the last write began. */
    let begunMs = 0
    let onIdle: (() => void) | null = null

    const promoteNext = (one: One): void => {
      if (one.next !== null) ready.push(one.next)
      else lasts.delete(one.id)
    }
    const end = (one: One, outcome: Effect.Effect<Outcome, StoreError>): void => {
      promoteNext(one)
      one.resume(outcome)
    }
    /** A loop, because a withdrawn entry may let another one in. */
    const take = (): ReadonlyArray<One> => {
      const group: Array<One> = []
      while (ready.length > 0 && group.length < options.groupSize) {
        for (const one of ready.splice(0, options.groupSize - group.length)) {
          if (one.withdrawn) promoteNext(one)
          else group.push(one)
        }
      }
      return group
    }
    const failWaiting = (outcome: Effect.Effect<never, StoreError>): void => {
      while (ready.length > 0) {
        const waiting = ready
        ready = []
        for (const one of waiting) end(one, outcome)
      }
    }

    const flush = (group: ReadonlyArray<One>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const startedMs = clock.currentTimeMillisUnsafe()
        begunMs = startedMs
        return Effect.matchCauseEffect(options.writeGroup(group.map((one) => one.entry)), {
          onSuccess: (outcomes) =>
            Effect.sync(() => {
              for (const [position, one] of group.entries()) {
                const outcome = outcomes[position]
                end(one, outcome === undefined ? noOutcome : Effect.succeed(outcome))
              }
            }),
          onFailure: (cause) => {
            if (Cause.hasDies(cause) && group.length > 1) {
              const half = group.length >> 1
              return Effect.andThen(flush(group.slice(0, half)), flush(group.slice(half)))
            }
            return Effect.sync(() => {
              const outcome = Effect.failCause(cause)
              for (const one of group) end(one, outcome)
              if (clock.currentTimeMillisUnsafe() - startedMs >= SILENT_AFTER_MS) failWaiting(outcome)
            })
          }
        })
      })

    const lane = Effect.suspend(() => {
      let group: ReadonlyArray<One> = []
      return Effect.whileLoop({
        while: () => {
          group = take()
          if (group.length > 0) return (void written.add(group), true)
          if (--running === 0) onIdle?.()
          return false
        },
        body: () => flush(group),
        step: () => void written.delete(group)
      })
    })
    // The lane begins after the fibers that are ready to run now, so that their entries come along.
    const start = (nowMs: number): void => {
      if (running === options.lanes || (running > 0 && nowMs - begunMs < LONG_MS)) return
      running++
      begunMs = nowMs
      runFork(Effect.andThen(Effect.yieldNow, lane))
    }

    yield* Effect.addFinalizer(() =>
      Effect.callback<void>((resume) => {
        onIdle = () => resume(Effect.void)
        if (running === 0) onIdle()
      })
    )

    return {
      write: (id, entry) =>
        Effect.callback((resume) => {
          const one: One = {
            id,
            entry,
            sinceMs: clock.currentTimeMillisUnsafe(),
            resume,
            withdrawn: false,
            next: null
          }
          const last = lasts.get(id)
          lasts.set(id, one)
          if (last !== undefined) {
            last.next = one
          } else {
            ready.push(one)
            start(one.sinceMs)
          }
          return Effect.sync(() => {
            one.withdrawn = true
          })
        }),
      lagMs: Effect.sync(() => {
        let sinceMs = Infinity
        for (const group of [ready, ...written]) for (const one of group) sinceMs = Math.min(sinceMs, one.sinceMs)
        return sinceMs === Infinity ? 0 : Math.max(0, clock.currentTimeMillisUnsafe() - sinceMs)
      })
    }
  })

const noOutcome = Effect.die(new Error("a group was written without an outcome for each entry, which is impossible"))
