/**
 * Circuits with a failure since their last success. Any other circuit is closed and has no failures
 * in a row, so a call need not ask for its state and a success need not be recorded. Processes with
 * a shared store mark these circuits in it, and read the marks of the others: each process then
 * asks the circuits that had trouble anywhere.
 */
import { Effect } from "effect"
import { type LockoutStore } from "../../store/providerState/LockoutStore.ts"

const MARK = "failing "

/** Whether a recorded name marks a circuit, and is no lockout. */
export const isMark = (name: string): boolean => name.startsWith(MARK)

/** `store`: shared marks; null: none are shared. */
export const makeTroubled = (store: LockoutStore["Service"] | null) => {
  /** How often each circuit has failed here since its last success here. */
  const here = new Map<string, number>()
  /** The marked circuits, as this process knows them. */
  const marked = new Set<string>()
  /** Counts the changes by this process. */
  let changes = 0

  return {
    has: (key: string): boolean => here.has(key) || marked.has(key),

    /** The failures here, for `succeeded`. */
    failures: (key: string): number => here.get(key) ?? 0,

    failed: (key: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        here.set(key, (here.get(key) ?? 0) + 1)
        if (store === null || marked.has(key)) return Effect.void
        changes++
        marked.add(key)
        // Without the store, the next failure marks it.
        return Effect.catch(Effect.asVoid(store.close(MARK + key, 0)), () => Effect.sync(() => void marked.delete(key)))
      }),

    /** A recorded success of a call that began with so many failures here. Later ones count. */
    succeeded: (key: string, failuresBefore: number): Effect.Effect<void> =>
      Effect.suspend(() => {
        if ((here.get(key) ?? 0) !== failuresBefore) return Effect.void
        here.delete(key)
        if (store === null || !marked.delete(key)) return Effect.void
        changes++
        return Effect.ignore(store.lift([MARK + key]))
      }),

    /**
     * Reads the marks of other processes. If this process changed one meanwhile, the result is
     * dropped.
     */
    learn: Effect.suspend(() => {
      if (store === null) return Effect.void
      const before = changes
      return Effect.map(store.all, (found) => {
        if (changes !== before) return
        marked.clear()
        for (const name of found.keys()) if (isMark(name)) marked.add(name.slice(MARK.length))
      })
    })
  }
}
