/**
 * Providers that refuse our credentials, or have no more to give to our account, and until when no request is sent to them. A request may
 * be refused for what it asks, so the first refusal closes the provider for the client's key that asked; the refusal of a second
 * key closes it for all. A 403 may be about one model, so it closes that model alone. Once the time is over one request tries, and the
 * others wait for its outcome. All processes that share the store know the same; while the store is away each knows what it was told
 * itself. A provider that refused nobody costs nothing.
 */
import { type Clock, Effect } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type LockoutStore } from "../../store/providerState/LockoutStore.ts"

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
  const known = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> =>
    namesOf(candidate, keyId).filter((name) => until.has(name))

  /** For how long no request of the key is sent there, in milliseconds; 0: go ahead. Without a key: no request at all. */
  const remainingMs = (candidate: Candidate, keyId: string | null = null): number => {
    if (until.size === 0) return 0
    const untilMs = namesOf(candidate, keyId).reduce((latest, name) => Math.max(latest, until.get(name) ?? 0), 0)
    return Math.max(0, untilMs - clock.currentTimeMillisUnsafe())
  }

  /** The name itself, and the keys that it is closed for. */
  const closedOf = (name: string): ReadonlyArray<string> =>
    [...until.keys()].filter((other) => other === name || other.startsWith(`${name} `))

  return {
    isEmpty: (): boolean => until.size === 0,
    remainingMs,

    /** As `remainingMs`. With 0 the caller goes ahead: where the time was over just now, as the only one. */
    enter: (candidate: Candidate, keyId: string | null = null): Effect.Effect<number> =>
      Effect.suspend(() => {
        const names = known(candidate, keyId)
        const ms = remainingMs(candidate, keyId)
        if (names.length === 0 || ms > 0) return Effect.succeed(ms)
        hold(names, TRIED_MS)
        if (store === null) return Effect.succeed(0)
        return store.claim(names, TRIED_MS).pipe(
          // Nobody can tell: then each process tries for itself.
          Effect.orElseSucceed(() => 0),
          Effect.tap((closedMs) => Effect.sync(() => closedMs > 0 && hold(known(candidate, keyId), closedMs)))
        )
      }),

    /**
     * It refused a request of the key; null: whoever asked. Answers whether that is news: it has answered since the last time, or
     * never refused.
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

    /** It answered, so it takes our credentials. */
    lift: (candidate: Candidate): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (until.size === 0) return Effect.void
        const names = namesOf(candidate, null).flatMap(closedOf)
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

/** What may be closed: the provider, the model, and either for one client's key. */
const namesOf = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> => {
  const names = [candidate.provider.slug, modelOf(candidate)]
  return keyId === null ? names : [...names, ...names.map((name) => `${name} ${keyId}`)]
}
