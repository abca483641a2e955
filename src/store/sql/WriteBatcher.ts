/**
 * Batches the writes of many fibers. A write starts at once when none is running; otherwise its
 * entries wait and form the next group. Each caller gets the outcome of its own entry. Entries of
 * one id are written one after the other, in call order, never in one group. The entry of an
 * interrupted caller is withdrawn unless it is already being written.
 *
 * A group that fails with a `StoreError` fails for all its callers. A group that dies is written
 * again in halves, so that an entry that cannot be written does not affect the others.
 */
import { Cause, Clock, Effect, Exit, type Scope } from "effect"
import { makeDeadlines } from "../../domain/runtime/Deadlines.ts"
import { TransientMap } from "../../domain/runtime/TransientMap.ts"
import { type StoreError } from "../StoreError.ts"

/**
 * A write that fails after this long got no response. The waiting entries fail with it, because
 * they would wait as long again.
 */
const SILENT_AFTER_MS = 1_000

/**
 * A second write starts only if the running ones take longer than this: larger groups save more
 * than the shorter wait would.
 */
const LONG_MS = 10

export interface WriteBatcher<Entry, Outcome> {
  readonly write: (id: string, entry: Entry) => Effect.Effect<Outcome, StoreError>
  /** The age of the oldest entry that is not written yet, in milliseconds. 0 if all are written. */
  readonly lagMs: Effect.Effect<number>
}

interface Waiting<Entry, Outcome> {
  readonly id: string
  readonly entry: Entry
  readonly sinceMs: number
  readonly resume: (outcome: Effect.Effect<Outcome, StoreError>) => void
  withdrawn: boolean
  /** The next entry with the same id. */
  next: Waiting<Entry, Outcome> | null
}

/** Closing the scope waits for the running writes. */
export const makeWriteBatcher = <Entry, Outcome>(options: {
  /** Writes a group in one transaction and returns the outcomes in its order. Ids are distinct. */
  readonly writeGroup: (entries: ReadonlyArray<Entry>) => Effect.Effect<ReadonlyArray<Outcome>, StoreError>
  /** The most concurrent writes. A further one starts when the running ones take long. */
  readonly concurrency: number
  /** The most entries of a group. */
  readonly groupSize: number
  /** The longest time of a write. */
  readonly limitMs: number
  readonly outOfTime: () => StoreError
}): Effect.Effect<WriteBatcher<Entry, Outcome>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type One = Waiting<Entry, Outcome>
    const clock = yield* Clock.Clock
    const runFork = Effect.runForkWith(yield* Effect.context())
    const deadlines = yield* makeDeadlines(options.limitMs)
    /** The first entry of each id that is not being written. */
    let ready: Array<One> = []
    /** The last entry of each id that waits or is being written. */
    const lasts = new TransientMap<string, One>()
    let written: ReadonlyArray<ReadonlyArray<One>> = []
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
    /** Loops, because withdrawing an entry may release the next one of its id. */
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

    /** Writes the next group, and then those that have come meanwhile. */
    const begin = (): void => {
      const group = take()
      if (group.length === 0) {
        if (--running === 0) onIdle?.()
        return
      }
      written = [...written, group]
      flush(group, () => {
        written = written.filter((one) => one !== group)
        begin()
      })
    }
    /**
     * One fiber writes the group. A late one is interrupted in the background, because cancelling a
     * statement on a server that does not answer takes seconds.
     */
    const flush = (group: ReadonlyArray<One>, next: () => void): void => {
      const startedMs = clock.currentTimeMillisUnsafe()
      begunMs = startedMs
      let isOver = false
      const over = (exit: Exit.Exit<ReadonlyArray<Outcome>, StoreError>): void => {
        if (isOver) return
        isOver = true
        limit.end()
        if (Exit.isSuccess(exit)) {
          for (const [position, one] of group.entries()) {
            const outcome = exit.value[position]
            end(one, outcome === undefined ? noOutcome : Effect.succeed(outcome))
          }
        } else if (Cause.hasDies(exit.cause) && group.length > 1) {
          const half = group.length >> 1
          return flush(group.slice(0, half), () => flush(group.slice(half), next))
        } else {
          const outcome = Exit.failCause(exit.cause)
          for (const one of group) end(one, outcome)
          if (clock.currentTimeMillisUnsafe() - startedMs >= SILENT_AFTER_MS) failWaiting(outcome)
        }
        next()
      }
      const limit = deadlines.begin(() => {
        over(Exit.fail(options.outOfTime()))
        fiber.interruptUnsafe()
      })
      const fiber = runFork(options.writeGroup(group.map((one) => one.entry)))
      fiber.addObserver(over)
    }
    // The write starts after the fibers that can run now, so that their entries join the group.
    const start = (nowMs: number): void => {
      if (running === options.concurrency || (running > 0 && nowMs - begunMs < LONG_MS)) return
      running++
      begunMs = nowMs
      setImmediate(begin)
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
