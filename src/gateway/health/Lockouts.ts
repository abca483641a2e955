/**
 * Providers that refuse the gateway's credentials, or whose account is used up, and until when they
 * get no requests. A provider may refuse a request for its content, so the first refusal locks the
 * provider for the client's key that asked; the refusal of a second key locks it for all. A 403 may
 * concern one model, so it locks that model alone. When the time is over, one request tries and the
 * others wait for its outcome. Processes with a shared store share the lockouts; while the store is
 * away, each process knows its own. Without lockouts the check costs nothing.
 *
 * A provider with several keys has the lockouts of each key apart, and a key that has reached its
 * rate limit for a model cools down: for the time that the provider names, else for a time that
 * doubles with each further refusal. This too begins with the client's key that asked, because one
 * request may be larger than the limit allows.
 */
import { type Clock, Effect } from "effect"
import { type Candidate, keyName, withEachKey } from "../../domain/Catalog.ts"
import { type LockoutStore } from "../../store/providerState/LockoutStore.ts"
import { isMark } from "./Troubled.ts"

/** The repair of a credential takes longer than a request can wait. */
const LOCKED_OUT_MS = 30_000
/** How long other requests wait for one try. */
const TRIED_MS = 10_000
const FORBIDDEN = 403
/** The first cooldown without a `Retry-After`, and the longest ones without and with it. */
const COOLDOWN_MS = 250
const LONGEST_COOLDOWN_MS = 30_000
const LONGEST_RETRY_AFTER_MS = 120_000

export const makeLockouts = (store: LockoutStore["Service"] | null, clock: Clock.Clock) => {
  /**
   * The end of each lockout, in Unix milliseconds, as this process knows it. An entry stays until
   * the provider answers.
   */
  const until = new Map<string, number>()
  /** When each began, as this process knows it. */
  const since = new Map<string, number>()
  /** How often a key has begun to cool down since it last answered. */
  const cooldowns = new Map<string, number>()
  /** Counts the changes by this process. */
  let changes = 0

  const hold = (names: ReadonlyArray<string>, ms: number): void => {
    changes++
    const nowMs = clock.currentTimeMillisUnsafe()
    for (const name of names) {
      if (!until.has(name)) since.set(name, nowMs)
      until.set(name, nowMs + ms)
    }
  }
  const known = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> =>
    namesOf(candidate, keyId).filter((name) => until.has(name))

  /**
   * How long the provider gets no request of the client's key, in milliseconds; 0: it may be
   * called. Without a key: no request at all. A candidate without a key of its provider may be
   * called while one of them may.
   */
  const remainingMs = (candidate: Candidate, keyId: string | null = null): number => {
    if (until.size === 0) return 0
    const nowMs = clock.currentTimeMillisUnsafe()
    const endOf = (one: Candidate) =>
      [...namesOf(one, keyId), ...cooldownsOf(one, keyId)].reduce((end, name) => Math.max(end, until.get(name) ?? 0), 0)
    return Math.max(0, Math.min(...withEachKey(candidate).map(endOf)) - nowMs)
  }

  /** The name, and the keys that it is locked for. */
  const closedOf = (name: string): ReadonlyArray<string> =>
    [...until.keys()].filter((other) => other === name || other.startsWith(`${name} `))

  /**
   * The name to lock after a refusal of a request of the client's key: at first for this key alone,
   * for all once another key was refused too.
   */
  const closingOf = (name: string, keyId: string | null) => {
    const before = closedOf(name)
    const own = keyId === null ? name : `${name} ${keyId}`
    return { closing: before.some((other) => other !== own) ? name : own, isNew: before.length === 0 }
  }

  return {
    isEmpty: (): boolean => until.size === 0,
    remainingMs,

    /**
     * Since when the provider refuses the gateway's credentials, of one client's request at least;
     * of a provider with several keys each of them. Null: it does not, or has answered since.
     */
    sinceMs: (candidate: Candidate): number | null => {
      if (until.size === 0) return null
      const each = withEachKey(candidate).map((one) => namesOf(one, null).flatMap(closedOf))
      if (each.some((names) => names.length === 0)) return null
      return Math.min(...each.flat().map((name) => since.get(name) ?? clock.currentTimeMillisUnsafe()))
    },

    /** Why the provider's key is locked: the reason that lasts longer. */
    because: (candidate: Candidate, keyId: string | null): "credentials_refused" | "rate_limited" => {
      const endOf = (names: ReadonlyArray<string>) => Math.max(0, ...names.map((name) => until.get(name) ?? 0))
      return endOf(cooldownsOf(candidate, keyId)) > endOf(namesOf(candidate, keyId))
        ? "rate_limited"
        : "credentials_refused"
    },

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
        const name = status === FORBIDDEN ? modelOf(candidate) : keyName(candidate)
        const { closing, isNew: isNewHere } = closingOf(name, keyId)
        hold([closing], LOCKED_OUT_MS)
        if (store === null) return Effect.succeed(isNewHere)
        return Effect.orElseSucceed(store.close(closing, LOCKED_OUT_MS), () => true).pipe(
          Effect.map((isNew) => isNew && isNewHere)
        )
      }),

    /**
     * The provider's key has reached its rate limit. Refusals during a cooldown do not prolong it.
     */
    coolDown: (candidate: Candidate, retryAfterMs: number | null, keyId: string | null): Effect.Effect<void> =>
      Effect.suspend(() => {
        const { closing } = closingOf(cooldownName(candidate), keyId)
        if ((until.get(closing) ?? 0) > clock.currentTimeMillisUnsafe()) return Effect.void
        const count = cooldowns.get(closing) ?? 0
        cooldowns.set(closing, count + 1)
        const ms =
          retryAfterMs === null
            ? Math.min(COOLDOWN_MS * 2 ** count, LONGEST_COOLDOWN_MS)
            : Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)
        hold([closing], ms)
        return store === null ? Effect.void : Effect.ignore(store.close(closing, ms))
      }),

    /**
     * The provider answered, so it accepts the credentials. A cooldown that is not over goes on:
     * the answer may be of an earlier call. Returns whether its credentials were refused before.
     */
    lift: (candidate: Candidate): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        if (until.size === 0) return Effect.succeed(false)
        const nowMs = clock.currentTimeMillisUnsafe()
        const cooled = cooldownsOf(candidate, null)
          .flatMap(closedOf)
          .filter((name) => (until.get(name) ?? 0) <= nowMs)
        const refused = namesOf(candidate, null).flatMap(closedOf)
        const names = [...refused, ...cooled]
        if (names.length === 0) return Effect.succeed(false)
        changes++
        for (const name of names) {
          until.delete(name)
          since.delete(name)
          cooldowns.delete(name)
        }
        const wasRefused = refused.length > 0
        return store === null ? Effect.succeed(wasRefused) : Effect.as(Effect.ignore(store.lift(names)), wasRefused)
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
        for (const [name, ms] of found) if (!isMark(name)) until.set(name, nowMs + ms)
        for (const name of cooldowns.keys()) if (!until.has(name)) cooldowns.delete(name)
        for (const name of since.keys()) if (!until.has(name)) since.delete(name)
        for (const name of until.keys()) if (!since.has(name)) since.set(name, nowMs)
      })
    })
  }
}

const modelOf = (candidate: Candidate): string => `${keyName(candidate)}|${candidate.offer.id}`

const cooldownName = (candidate: Candidate): string => `${modelOf(candidate)}|cooldown`

const withClient = (names: ReadonlyArray<string>, keyId: string | null): ReadonlyArray<string> =>
  keyId === null ? names : [...names, ...names.map((name) => `${name} ${keyId}`)]

/** The names that may be locked: the provider's key, the model, and both for one client's key. */
const namesOf = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> =>
  withClient([keyName(candidate), modelOf(candidate)], keyId)

/** The names under which the provider's key may cool down. */
const cooldownsOf = (candidate: Candidate, keyId: string | null): ReadonlyArray<string> =>
  candidate.key === undefined ? [] : withClient([cooldownName(candidate)], keyId)
