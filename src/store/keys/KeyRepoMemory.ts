/** Keys in memory, for tests and trials. Same guarantees as the table, until the process ends. */
import { Effect, Option, Semaphore, Layer } from "effect"
import { type KeyRecord, type KeyStatus, statusOf, type Tier } from "../../domain/Key.ts"
import { type KeyFilter, type KeyPatch, KeyRepo, type KeySort, type OwnerFigures } from "./KeyRepo.ts"

const patched = (key: KeyRecord, patch: KeyPatch, nowMs: number): KeyRecord => {
  const next = { ...key, ...patch, updatedAtMs: nowMs }
  return key.state === "revoked" ? { ...next, state: key.state, revokedAtMs: key.revokedAtMs } : next
}

const ended = (nowMs: number): KeyPatch => ({
  revokedAtMs: nowMs,
  previousSecretHash: null,
  previousValidUntilMs: null
})

const matches = (key: KeyRecord, filter: KeyFilter): boolean => {
  const { id, name, ownerId, prefix } = key
  const { search, status: asked } = filter
  const status = asked === undefined ? undefined : statusOf(key, asked.nowMs)
  return (
    (filter.ownerId ?? ownerId) === ownerId &&
    (asked?.is === "live" ? status === "active" || status === "disabled" : status === asked?.is) &&
    (search === undefined || name.toLowerCase().includes(search.toLowerCase()) || id === search || prefix === search)
  )
}

type Order = (a: KeyRecord, b: KeyRecord) => number
const byId: Order = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
const nameOf = ({ name }: KeyRecord): string => name.toLowerCase()
const NEVER_MS = Number.MAX_SAFE_INTEGER

const orders: Readonly<Record<KeySort, Order>> = {
  created: (a, b) => byId(b, a),
  name: (a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : byId(a, b)),
  last_used: (a, b) => (b.lastUsedAtMs ?? 0) - (a.lastUsedAtMs ?? 0) || byId(b, a),
  expires: (a, b) => (a.expiresAtMs ?? NEVER_MS) - (b.expiresAtMs ?? NEVER_MS) || byId(a, b),
  // This store does not know what is spent.
  spent: (a, b) => byId(b, a)
}

export const makeKeyRepoMemory = (): KeyRepo["Service"] => {
  const keys = new Map<string, KeyRecord>()
  const suspended = new Set<string | null>()
  const turn = Semaphore.makeUnsafe(1)

  return {
    insert: (key) =>
      Effect.suspend(() => {
        const taken = [...keys.values()].some((other) => other.id === key.id || other.publicId === key.publicId)
        if (taken)
          return Effect.die(new Error(`a key with the id ${key.id} or its public id exists, which is impossible`))
        keys.set(key.id, key)
        return Effect.void
      }),

    findByPublicId: (publicId) =>
      Effect.sync(() =>
        Option.fromUndefinedOr(
          [...keys.values()].find((key) => key.publicId === publicId && !suspended.has(key.ownerId))
        )
      ),

    // This store does not know users.
    ownerTier: () => Effect.succeed(null),

    get: (id) => Effect.sync(() => Option.fromUndefinedOr(keys.get(id))),

    list: ({ cursor, isReversed = false, limit, sort = "created", ...filter }) =>
      Effect.sync(() => {
        const order: Order = (a, b) => (isReversed ? orders[sort](b, a) : orders[sort](a, b))
        const found = [...keys.values()].filter((key) => matches(key, filter)).sort(order)
        const at = found.findIndex(({ id }) => id === cursor)
        const left =
          cursor === null
            ? found
            : sort === "created"
              ? found.filter(({ id }) => (isReversed ? id > cursor : id < cursor))
              : found.slice(at < 0 ? found.length : at + 1)
        const page = left.slice(0, limit)
        return { keys: page, nextCursor: left.length > limit ? (page.at(-1)?.id ?? null) : null }
      }),

    total: (filter) => Effect.sync(() => [...keys.values()].filter((key) => matches(key, filter)).length),

    named: (ids) =>
      Effect.sync(
        () => new Map([...keys.values()].filter(({ id }) => ids.includes(id)).map(({ id, name }) => [id, name]))
      ),

    update: (id, patch, nowMs) =>
      Effect.sync(() => {
        const key = keys.get(id)
        if (key === undefined) return Option.none()
        const next = patched(key, patch, nowMs)
        keys.set(id, next)
        return Option.some(next)
      }),

    setState: (ids, state, nowMs) =>
      Effect.sync(() => {
        const changed = new Set<string>()
        const found = new Map<string, KeyRecord>()
        for (const id of ids) {
          const key = keys.get(id)
          if (key === undefined) continue
          const isChanged = key.state !== state && key.state !== "revoked"
          if (isChanged) changed.add(id)
          const next = isChanged ? patched(key, { state, ...(state === "revoked" ? ended(nowMs) : {}) }, nowMs) : key
          keys.set(id, next)
          found.set(id, next)
        }
        return { keys: found, changed }
      }),

    ofOwners: (ownerIds) =>
      Effect.sync(() => {
        const figures = new Map<string, OwnerFigures>()
        for (const { ownerId, state } of keys.values()) {
          if (ownerId === null || !ownerIds.includes(ownerId)) continue
          const before = figures.get(ownerId) ?? { keys: 0, spentNano: 0, reservedNano: 0 }
          figures.set(ownerId, { ...before, keys: before.keys + (state === "revoked" ? 0 : 1) })
        }
        return figures
      }),

    rotate: ({ id, newHash, nowMs, oldHash, oldUntilMs }) =>
      Effect.sync(() => {
        const key = keys.get(id)
        if (key?.secretHash !== oldHash || key.state === "revoked") return Option.none()
        const next = patched(
          key,
          {
            secretHash: newHash,
            previousSecretHash: oldUntilMs === null ? null : oldHash,
            previousValidUntilMs: oldUntilMs
          },
          nowMs
        )
        keys.set(id, next)
        return Option.some(next)
      }),

    exclusively: (_, decision) => Semaphore.withPermit(turn, decision),

    suspendOwner: (ownerId, suspends) =>
      Effect.sync(() => void (suspends ? suspended.add(ownerId) : suspended.delete(ownerId))),

    touch: (uses) =>
      Effect.sync(() => {
        for (const [id, atMs] of uses) {
          const key = keys.get(id)
          if (key !== undefined) keys.set(id, { ...key, lastUsedAtMs: Math.max(key.lastUsedAtMs ?? atMs, atMs) })
        }
      }),

    capped: ({ afterId, limit, nowMs }) =>
      Effect.sync(() =>
        [...keys.values()]
          .filter((key) => statusOf(key, nowMs) === "active" && (afterId === null || key.id > afterId))
          .flatMap(({ id, monthlyBudgetNano }) =>
            monthlyBudgetNano === null ? [] : [{ id, capNano: monthlyBudgetNano }]
          )
          .sort((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, limit)
      ),

    counts: (nowMs) =>
      Effect.sync(() => {
        const byStatus: Record<KeyStatus, number> = { active: 0, disabled: 0, revoked: 0, expired: 0 }
        const byTier: Record<Tier, number> = { free: 0, pro: 0, enterprise: 0 }
        for (const key of keys.values()) {
          const status = statusOf(key, nowMs)
          byStatus[status] += 1
          if (status === "active") byTier[key.tier] += 1
        }
        return { byStatus, byTier }
      })
  }
}

/** Each build starts empty. */
export const layer = Layer.sync(KeyRepo, makeKeyRepoMemory)
