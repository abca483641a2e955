/**
 * Providers that refuse the gateway's credentials, or whose account is used up, and until when they
 * get no requests. A provider may refuse a request for its content, so the first refusal locks the
 * provider for the client's key that asked; the refusal of a second key locks it for all. A 403 may
 * concern one model, so it locks that model alone. When the time is over, one request tries and the
 * others wait for its outcome. Processes with a shared store share the lockouts; while the store is
 * away, each process knows its own. Without lockouts the check costs nothing.
 */
import { type Clock, Effect } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type LockoutStore } from "../../store/providerState/LockoutStore.ts"

/** The repair of a credential takes longer than a request can wait. */
const LOCKED_OUT_MS = 30_000
/** How long other requests wait for one try. */
const TRIED_MS = 10_000
const FORBIDDEN = 403

export const makeLockouts = (store: LockoutStore["Service"] | null, clock: Clock.Clock) => {
  /**
   * The end of each lockout, in Unix milliseconds, as this process knows it. An entry stays until
   * the provider answers.
   */
  const until = new Map<string, number>()
  /** Counts the changes by this process. */
  let changes = 0

  const hold = (names: ReadonlyArray<string>, ms: number): void => {
    changes++
    for (const name of names) until.set(name, clock.currentTimeMillisUnsafe() + ms)
  }
  const known = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> =>
    namesOf(candidate, keyId).filter((name) => until.has(name))

  /**
   * How long the provider gets no request of the key, in milliseconds; 0: it may be called. Without
   * a key: no request at all.
   */
  const remainingMs = (candidate: Candidate, keyId: string | null = null): number => {
    if (until.size === 0) return 0
    const untilMs = namesOf(candidate, keyId).reduce((latest, name) => Math.max(latest, until.get(name) ?? 0), 0)
    return Math.max(0, untilMs - clock.currentTimeMillisUnsafe())
  }

  /** The name, and the keys that it is locked for. */
  const closedOf = (name: string): ReadonlyArray<string> =>
    [...until.keys()].filter((other) => other === name || other.startsWith(`${name} `))

  return {
    isEmpty: (): boolean => until.size === 0,
    remainingMs,

    /**
     * As `remainingMs`. With 0 the caller may call the provider; if a lockout has just ended, it is
     * the only one.
     */
    enter: (candidate: Candidate, keyId: string | null = null): Effect.Effect<number> =>
      Effect.suspend(() => {
        const names = known(candidate, keyId)
        const ms = remainingMs(candidate, keyId)
        if (names.length === 0 || ms > 0) return Effect.succeed(ms)
        hold(names, TRIED_MS)
        if (store === null) return Effect.succeed(0)
        return store.claim(names, TRIED_MS).pipe(
          // The store is away: each process tries for itself.
          Effect.orElseSucceed(() => 0),
          Effect.tap((closedMs) => Effect.sync(() => closedMs > 0 && hold(known(candidate, keyId), closedMs)))
        )
      }),

    /**
     * The provider refused a request of the key; null: of any key. Returns whether this is new: it
     * has answered since its last refusal, or never refused before.
     */
    add: (candidate: Candidate, status: number, keyId: string | null = null): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        const name = status === FORBIDDEN ? modelOf(candidate) : candidate.provider.slug
        const before = closedOf(name)
        const own = keyId === null ? name : `${name} ${keyId}`
        const isForAll = before.some((other) => other !== own)
        const closing = isForAll ? name : own
        hold([closing], LOCKED_OUT_MS)
        const isNewHere = before.length === 0
        if (store === null) return Effect.succeed(isNewHere)
        return Effect.orElseSucceed(store.close(closing, LOCKED_OUT_MS), () => true).pipe(
          Effect.map((isNew) => isNew && isNewHere)
        )
      }),

    /** The provider answered, so it accepts the credentials. */
    lift: (candidate: Candidate): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (until.size === 0) return Effect.void
        const names = namesOf(candidate, null).flatMap(closedOf)
        if (names.length === 0) return Effect.void
        changes++
        for (const name of names) until.delete(name)
        return store === null ? Effect.void : Effect.ignore(store.lift(names))
      }),

    /**
     * Reads the lockouts of other processes. If this process changed one meanwhile, the result is
     * dropped.
     */
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

/** The names that may be locked: the provider, the model, and both for one client's key. */
const namesOf = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> => {
  const names = [candidate.provider.slug, modelOf(candidate)]
  return keyId === null ? names : [...names, ...names.map((name) => `${name} ${keyId}`)]
}
