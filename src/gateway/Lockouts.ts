/**
 * Providers that refuse our credentials, or have no more to give to our account, and until when nobody is sent to them. A 403 may be about
 * one model that the account was not granted, so it closes that model alone: nobody's request for it takes the others away. Once the time is
 * over one request tries, and the others wait for what it hears. What one process was told holds for all that share the store; while the
 * store is away each knows what it was told itself. A provider that nobody refused costs nothing.
 */
import { type Clock, Effect } from "effect"
import { type Candidate } from "../domain/Catalog.ts"
import { type LockoutStore } from "../store/LockoutStore.ts"

/** An operator needs longer to mend a key than a request can wait. */
const LOCKED_OUT_MS = 30_000
/** How long one try is waited for. */
const TRIED_MS = 10_000
const FORBIDDEN = 403

export const makeLockouts = (store: LockoutStore["Service"] | null, clock: Clock.Clock) => {
  /** Until when, in Unix milliseconds, as far as this process knows; those that did not answer since they were first locked out. */
  const until = new Map<string, number>()
  /** Counts the changes that this process made itself. */
  let changes = 0

  const hold = (names: ReadonlyArray<string>, ms: number): void => {
    changes++
    for (const name of names) until.set(name, clock.currentTimeMillisUnsafe() + ms)
  }
  const known = (candidate: Candidate): ReadonlyArray<string> => namesOf(candidate).filter((name) => until.has(name))

  /** For how long nobody is sent there, in milliseconds; 0: go ahead. */
  const remainingMs = (candidate: Candidate): number => {
    if (until.size === 0) return 0
    const untilMs = namesOf(candidate).reduce((latest, name) => Math.max(latest, until.get(name) ?? 0), 0)
    return Math.max(0, untilMs - clock.currentTimeMillisUnsafe())
  }

  return {
    isEmpty: (): boolean => until.size === 0,
    remainingMs,

    /** As `remainingMs`. With 0 the caller goes ahead: where the time was over just now, as the only one. */
    enter: (candidate: Candidate): Effect.Effect<number> =>
      Effect.suspend(() => {
        const names = known(candidate)
        const ms = remainingMs(candidate)
        if (names.length === 0 || ms > 0) return Effect.succeed(ms)
        hold(names, TRIED_MS)
        if (store === null) return Effect.succeed(0)
        return store.claim(names, TRIED_MS).pipe(
          // Nobody can tell: then each process tries for itself.
          Effect.orElseSucceed(() => 0),
          Effect.tap((closedMs) => Effect.sync(() => closedMs > 0 && hold(known(candidate), closedMs)))
        )
      }),

    /** It refused us. Whether that is news: it has answered since the last time, or never was locked out. */
    add: (candidate: Candidate, status: number): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        const name = status === FORBIDDEN ? modelOf(candidate) : candidate.provider.slug
        const isNewHere = !until.has(name)
        hold([name], LOCKED_OUT_MS)
        return store === null
          ? Effect.succeed(isNewHere)
          : Effect.orElseSucceed(store.close(name, LOCKED_OUT_MS), () => isNewHere)
      }),

    /** It answered. */
    lift: (candidate: Candidate): Effect.Effect<void> =>
      Effect.suspend(() => {
        const names = known(candidate)
        if (names.length === 0) return Effect.void
        changes++
        for (const name of names) until.delete(name)
        return store === null ? Effect.void : Effect.ignore(store.lift(names))
      }),

    /** Takes over what the others know. What changes here meanwhile is newer. */
    learn: Effect.suspend(() => {
      if (store === null) return Effect.void
      const before = changes
      return Effect.map(store.all, (found) => {
        if (changes !== before) return
        const nowMs = clock.currentTimeMillisUnsafe()
        until.clear()
        for (const [name, ms] of found) until.set(name, nowMs + ms)
      })
    })
  }
}

const modelOf = ({ offer, provider }: Candidate): string => `${provider.slug}|${offer.id}`
const namesOf = (candidate: Candidate): ReadonlyArray<string> => [candidate.provider.slug, modelOf(candidate)]
