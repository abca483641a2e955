/** The guarantees of every KeyRepo, in memory or in a database. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, type Layer, Option } from "effect"
import { type KeyRecord } from "../../../src/domain/Key.ts"
import { type KeyPage, type KeyQuery, KeyRepo, type KeyStatusFilter } from "../../../src/store/keys/KeyRepo.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

const T0 = Date.UTC(2026, 10, 21)

let count = 0
/** A new key for each test, so that tests can share a database. Later ones have greater ids. */
const makeKey = (overrides: Partial<KeyRecord> = {}): KeyRecord => {
  const n = String(++count).padStart(6, "0")
  return {
    id: `key_${n}`,
    publicId: `public${n}`,
    secretHash: "a".repeat(64),
    previousSecretHash: null,
    previousValidUntilMs: null,
    prefix: `tg-${n}…`,
    name: `Key ${n} — “ünïcode” 'quoted'`,
    tier: "free",
    scopes: ["chat:write", "models:read"],
    state: "active",
    monthlyBudgetNano: null,
    allowedModels: null,
    privacy: null,
    ownerId: null,
    createdAtMs: T0,
    updatedAtMs: T0,
    lastUsedAtMs: null,
    expiresAtMs: null,
    revokedAtMs: null,
    ...overrides
  }
}

const inserted = (overrides: Partial<KeyRecord> = {}) =>
  Effect.gen(function* () {
    const repo = yield* KeyRepo
    const key = makeKey(overrides)
    yield* repo.insert(key)
    return key
  })

/** `rollsBack`: false for a repository that keeps what a failed decision wrote. */
export const keyRepoSuite = <E>(
  name: string,
  repoLayer: Layer.Layer<KeyRepo, E>,
  { rollsBack = true }: { readonly rollsBack?: boolean } = {}
) =>
  layer(repoLayer, { timeout: "60 seconds" })(name, (it) => {
    it.effect("no key of a suspended owner is found by its public id, including keys made later", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const [before, other, nobodys] = [
          yield* inserted({ ownerId: "usr_suspended" }),
          yield* inserted({ ownerId: "usr_other" }),
          yield* inserted()
        ]
        yield* repo.suspendOwner("usr_suspended", true)
        yield* repo.suspendOwner("usr_suspended", true)
        const during = yield* inserted({ ownerId: "usr_suspended" })
        for (const key of [before, during]) assert.isTrue(Option.isNone(yield* repo.findByPublicId(key.publicId)))
        for (const key of [other, nobodys]) assert.isTrue(Option.isSome(yield* repo.findByPublicId(key.publicId)))
        assert.isTrue(Option.isSome(yield* repo.get(before.id)))
        yield* repo.suspendOwner("usr_suspended", false)
        for (const key of [before, during]) {
          assert.deepStrictEqual(yield* repo.findByPublicId(key.publicId), Option.some(key))
        }
      })
    )

    it.effect("lists keys by name, by last use and by expiry, finds some, counts them and names them", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const owner = { ownerId: "usr_sorted" }
        const [a, b, c, d] = [
          yield* inserted({ ...owner, name: "beta", lastUsedAtMs: T0 + 1, expiresAtMs: null }),
          yield* inserted({ ...owner, name: "Alpha", lastUsedAtMs: null, expiresAtMs: T0 + 2 }),
          yield* inserted({ ...owner, name: "beta", lastUsedAtMs: T0 + 3, expiresAtMs: T0 + 1 }),
          yield* inserted({ ...owner, name: "gamma ray", lastUsedAtMs: T0 + 3, expiresAtMs: null })
        ]
        const names = new Map([a, b, c, d].map(({ id }, at) => [id, "abcd".charAt(at)]))
        const listed = (query: Partial<KeyQuery>) =>
          Effect.gen(function* () {
            const seen: Array<string> = []
            let cursor: string | null = null
            do {
              const page: KeyPage = yield* repo.list({ limit: 1, cursor, ...owner, ...query })
              seen.push(...page.keys.map(({ id }) => names.get(id) ?? ""))
              cursor = page.nextCursor
            } while (cursor !== null)
            return seen.join("")
          })
        assert.strictEqual(yield* listed({}), "dcba")
        assert.strictEqual(yield* listed({ sort: "name" }), "bacd")
        assert.strictEqual(yield* listed({ sort: "last_used" }), "dcab")
        assert.strictEqual(yield* listed({ sort: "expires" }), "cbad")
        assert.strictEqual(yield* listed({ isReversed: true }), "abcd")
        assert.strictEqual(yield* listed({ sort: "name", isReversed: true }), "dcab")
        assert.strictEqual(yield* listed({ sort: "last_used", isReversed: true }), "bacd")
        assert.strictEqual(yield* listed({ sort: "expires", isReversed: true }), "dabc")
        // Nothing is spent in this month.
        assert.strictEqual(yield* listed({ sort: "spent", month: "2026-11" }), "dcba")
        assert.strictEqual(yield* listed({ search: "BETA", sort: "name" }), "ac")
        assert.strictEqual(yield* listed({ search: "MMA R" }), "d")
        assert.strictEqual(yield* listed({ search: b.id }), "b")
        assert.strictEqual(yield* listed({ search: "%" }), "")
        assert.strictEqual(yield* repo.total(owner), 4)
        assert.strictEqual(yield* repo.total({ ...owner, search: "beta" }), 2)
        assert.deepStrictEqual(
          yield* repo.named([a.id, d.id, "key_none"]),
          new Map([
            [a.id, "beta"],
            [d.id, "gamma ray"]
          ])
        )
      })
    )

    it.effect("finds keys by their status at a moment", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const owner = { ownerId: "usr_states" }
        const states = {
          a: yield* inserted({ ...owner }),
          b: yield* inserted({ ...owner, expiresAtMs: T0 + 1 }),
          c: yield* inserted({ ...owner, expiresAtMs: T0 }),
          d: yield* inserted({ ...owner, state: "disabled", expiresAtMs: T0 }),
          e: yield* inserted({ ...owner, state: "revoked", revokedAtMs: T0 })
        }
        const found = (is: KeyStatusFilter["is"]) =>
          Effect.gen(function* () {
            const filter = { ...owner, status: { is, nowMs: T0 } }
            const { keys } = yield* repo.list({ limit: 10, cursor: null, isReversed: true, ...filter })
            assert.strictEqual(yield* repo.total(filter), keys.length)
            return Object.entries(states).flatMap(([name, { id }]) => (keys.some((key) => key.id === id) ? [name] : []))
          })
        assert.deepStrictEqual(yield* found("active"), ["a", "b"])
        assert.deepStrictEqual(yield* found("expired"), ["c"])
        assert.deepStrictEqual(yield* found("disabled"), ["d"])
        assert.deepStrictEqual(yield* found("revoked"), ["e"])
        assert.deepStrictEqual(yield* found("live"), ["a", "b", "d"])
      })
    )

    it.effect("sets the state of several keys at once, and adds up those of owners", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const owner = { ownerId: "usr_bulk" }
        const rotated = { previousSecretHash: "b".repeat(64), previousValidUntilMs: T0 + 9 }
        const [a, b, c] = [
          yield* inserted({ ...owner, ...rotated }),
          yield* inserted({ ...owner, state: "disabled" }),
          yield* inserted({ ...owner, state: "revoked", revokedAtMs: T0 })
        ]
        const ids = [c.id, "key_none", b.id, a.id]
        const disabled = yield* repo.setState(ids, "disabled", T0 + 1)
        assert.deepStrictEqual(disabled.changed, new Set([a.id]))
        assert.deepStrictEqual(Object.fromEntries(disabled.keys), {
          [a.id]: { ...a, state: "disabled" as const, updatedAtMs: T0 + 1 },
          [b.id]: b,
          [c.id]: c
        })
        const revoked = yield* repo.setState(ids, "revoked", T0 + 2)
        assert.deepStrictEqual(revoked.changed, new Set([a.id, b.id]))
        const gone = { state: "revoked" as const, updatedAtMs: T0 + 2, revokedAtMs: T0 + 2 }
        const expected = { ...a, ...gone, previousSecretHash: null, previousValidUntilMs: null }
        assert.deepStrictEqual(revoked.keys.get(a.id), expected)
        assert.deepStrictEqual(yield* repo.get(a.id), Option.some(expected))
        assert.deepStrictEqual(yield* repo.get(c.id), Option.some(c))
        assert.deepStrictEqual((yield* repo.setState(ids, "active", T0 + 3)).changed, new Set())

        yield* inserted(owner)
        const figures = yield* repo.ofOwners(["usr_bulk", "usr_without_keys"], "2026-11")
        assert.deepStrictEqual(figures, new Map([["usr_bulk", { keys: 1, spentNano: 0, reservedNano: 0 }]]))
      })
    )

    it.effect("lists the active keys with a cap, in pages", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const { id: afterId } = yield* inserted()
        const [first, second] = [yield* inserted({ monthlyBudgetNano: 5 }), yield* inserted({ monthlyBudgetNano: 0 })]
        yield* inserted({ monthlyBudgetNano: 5, state: "disabled" })
        yield* inserted({ monthlyBudgetNano: 5, expiresAtMs: T0 })
        const capped = (afterId: string, limit: number) => repo.capped({ afterId, limit, nowMs: T0 })
        assert.deepStrictEqual(yield* capped(afterId, 10), [
          { id: first.id, capNano: 5 },
          { id: second.id, capNano: 0 }
        ])
        assert.deepStrictEqual(yield* capped(afterId, 1), [{ id: first.id, capNano: 5 }])
        assert.deepStrictEqual(yield* capped(second.id, 10), [])
        assert.include(
          (yield* repo.capped({ afterId: null, limit: 1_000, nowMs: T0 })).map(({ id }) => id),
          first.id
        )
      })
    )

    it.effect("reads back what was inserted, by id and by public id", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const full = yield* inserted({
          tier: "enterprise",
          previousSecretHash: "b".repeat(64),
          previousValidUntilMs: T0 + 1,
          monthlyBudgetNano: 9_000_000_000_000_001,
          allowedModels: ["openai/gpt-4o-mini", "mock/*"],
          privacy: "block",
          ownerId: "usr_1",
          lastUsedAtMs: T0 + 2,
          expiresAtMs: T0 + 3,
          revokedAtMs: T0 + 4,
          state: "disabled"
        })
        const bare = yield* inserted({ scopes: [], allowedModels: [], monthlyBudgetNano: 0 })
        assert.deepStrictEqual(yield* repo.get(full.id), Option.some(full))
        assert.deepStrictEqual(yield* repo.findByPublicId(full.publicId), Option.some(full))
        assert.deepStrictEqual(yield* repo.get(bare.id), Option.some(bare))
        assert.isTrue(Option.isNone(yield* repo.get("key_none")))
        assert.isTrue(Option.isNone(yield* repo.findByPublicId(full.id)))
      })
    )

    it.effect("dies on an existing id or public id", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const key = yield* inserted()
        const sameId = yield* Effect.exit(repo.insert(makeKey({ id: key.id })))
        const samePublicId = yield* Effect.exit(repo.insert(makeKey({ publicId: key.publicId })))
        assert.isTrue(Exit.hasDies(sameId) && Exit.hasDies(samePublicId))
        assert.deepStrictEqual(yield* repo.get(key.id), Option.some(key))
      })
    )

    it.effect("pages through an owner's keys, newest first, without loss or repetition", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const ownerId = "usr_pages"
        const mine = yield* Effect.forEach(Array.from({ length: 7 }), () => inserted({ ownerId }))
        yield* inserted({ ownerId: "usr_other" })
        const newestFirst = mine.map((key) => key.id).toReversed()

        const seen: Array<string> = []
        let cursor: string | null = null
        do {
          const page: { keys: ReadonlyArray<KeyRecord>; nextCursor: string | null } = yield* repo.list({
            limit: 3,
            cursor,
            ownerId
          })
          seen.push(...page.keys.map((key) => key.id))
          cursor = page.nextCursor
        } while (cursor !== null)
        assert.deepStrictEqual(seen, newestFirst)

        const whole = yield* repo.list({ limit: 7, cursor: null, ownerId })
        assert.deepStrictEqual(whole.keys.length, 7)
        assert.isNull(whole.nextCursor)
        const everyone = yield* repo.list({ limit: 2, cursor: null })
        assert.deepStrictEqual(everyone.keys[0]?.ownerId, "usr_other")
        const nobody = yield* repo.list({ limit: 2, cursor: null, ownerId: "usr_nobody" })
        assert.deepStrictEqual(nobody, { keys: [], nextCursor: null })
      })
    )

    it.effect("changes only the members of a patch", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const key = yield* inserted({ monthlyBudgetNano: 5, allowedModels: ["mock/echo"], expiresAtMs: T0 + 9 })
        const renamed = yield* repo.update(key.id, { name: "renamed" }, T0 + 10)
        assert.deepStrictEqual(renamed, Option.some({ ...key, name: "renamed", updatedAtMs: T0 + 10 }))

        const patch = {
          tier: "pro",
          scopes: [],
          monthlyBudgetNano: null,
          allowedModels: null,
          privacy: "mask",
          expiresAtMs: null,
          publicId: `${key.publicId}-rotated`,
          secretHash: "c".repeat(64),
          previousSecretHash: key.secretHash,
          previousValidUntilMs: T0 + 60_000,
          prefix: "tg-new…",
          state: "disabled"
        } as const
        const changed = yield* repo.update(key.id, patch, T0 + 11)
        assert.deepStrictEqual(changed, Option.some({ ...key, name: "renamed", ...patch, updatedAtMs: T0 + 11 }))
        assert.deepStrictEqual(yield* repo.findByPublicId(patch.publicId), changed)
        assert.isTrue(Option.isNone(yield* repo.findByPublicId(key.publicId)))
        assert.isTrue(Option.isNone(yield* repo.update("key_none", { name: "x" }, T0)))
      })
    )

    it.effect("loses none of several concurrent changes", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const key = yield* inserted()
        yield* Effect.all(
          [
            repo.update(key.id, { name: "a" }, T0 + 1),
            repo.update(key.id, { tier: "pro" }, T0 + 1),
            repo.update(key.id, { monthlyBudgetNano: 7 }, T0 + 1),
            repo.update(key.id, { scopes: ["embeddings:write"] }, T0 + 1)
          ],
          { concurrency: "unbounded" }
        )
        const now = Option.getOrThrow(yield* repo.get(key.id))
        assert.deepStrictEqual(now, {
          ...key,
          name: "a",
          tier: "pro",
          monthlyBudgetNano: 7,
          scopes: ["embeddings:write"],
          updatedAtMs: T0 + 1
        })
      })
    )

    it.effect("keeps a revoked key revoked", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const key = yield* inserted()
        yield* repo.update(key.id, { state: "revoked", revokedAtMs: T0 + 1 }, T0 + 1)
        const again = yield* repo.update(key.id, { state: "active", revokedAtMs: null, name: "later" }, T0 + 2)
        assert.deepStrictEqual(
          again,
          Option.some({ ...key, state: "revoked" as const, revokedAtMs: T0 + 1, name: "later", updatedAtMs: T0 + 2 })
        )
        const race = yield* inserted()
        yield* Effect.all(
          [
            ...Array.from({ length: 10 }, () => repo.update(race.id, { state: "active" }, T0 + 1)),
            repo.update(race.id, { state: "revoked", revokedAtMs: T0 + 1 }, T0 + 1),
            ...Array.from({ length: 10 }, () => repo.update(race.id, { state: "disabled" }, T0 + 1))
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(Option.getOrThrow(yield* repo.get(race.id)).state, "revoked")
      })
    )

    it.effect("makes one of many concurrent rotations, and keeps both of its secrets", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const key = yield* inserted()
        const rotate = (newHash: string, oldUntilMs: number | null = T0 + 60_000) =>
          repo.rotate({ id: key.id, oldHash: key.secretHash, newHash, oldUntilMs, nowMs: T0 + 1 })
        const rotated = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, n) => String(n).padStart(64, "d")),
          (hash) => rotate(hash),
          { concurrency: "unbounded" }
        )
        const made = rotated.filter(Option.isSome).map(({ value }) => value)
        assert.lengthOf(made, 1)
        assert.deepStrictEqual(made[0], Option.getOrThrow(yield* repo.get(key.id)))
        assert.deepInclude(made[0], { previousSecretHash: key.secretHash, previousValidUntilMs: T0 + 60_000 })

        const other = yield* inserted({ previousSecretHash: "e".repeat(64), previousValidUntilMs: T0 + 5 })
        const atOnce = { id: other.id, oldHash: other.secretHash, newHash: "f".repeat(64), oldUntilMs: null, nowMs: T0 }
        const now = { secretHash: "f".repeat(64), previousSecretHash: null, previousValidUntilMs: null }
        assert.deepInclude(Option.getOrThrow(yield* repo.rotate(atOnce)), now)
        yield* repo.update(other.id, { state: "revoked" }, T0)
        assert.isTrue(Option.isNone(yield* repo.rotate({ ...atOnce, oldHash: "f".repeat(64) })))
        assert.isTrue(Option.isNone(yield* repo.rotate({ ...atOnce, id: "key_none" })))
      })
    )

    it.effect(
      "runs the decisions about an owner's keys one after the other, and rolls back a failed one in a database",
      () =>
        Effect.gen(function* () {
          const repo = yield* KeyRepo
          const ownerId = `usr_exclusive_${name}`
          const mine = repo.list({ limit: 100, cursor: null, ownerId })
          const atMostOne = repo.exclusively(
            ownerId,
            Effect.gen(function* () {
              if ((yield* mine).keys.length > 0) return false
              yield* repo.insert(makeKey({ ownerId }))
              return true
            })
          )
          const made = yield* Effect.forEach(Array.from({ length: 8 }), () => atMostOne, { concurrency: "unbounded" })
          assert.lengthOf(made.filter(Boolean), 1)
          const other = yield* repo.exclusively(`${ownerId}_2`, Effect.succeed("another owner's"))
          assert.strictEqual(other, "another owner's")
          const failing = Effect.andThen(
            repo.insert(makeKey({ ownerId })),
            Effect.fail(new StoreError({ dependency: "database", cause: null }))
          )
          if (rollsBack) {
            assert.strictEqual((yield* Effect.flip(repo.exclusively(ownerId, failing)))._tag, "StoreError")
          }
          assert.lengthOf((yield* mine).keys, 1)
        })
    )

    it.effect("records the last use, never backwards, and once per batch", () =>
      Effect.gen(function* () {
        const repo = yield* KeyRepo
        const [a, b] = [yield* inserted(), yield* inserted({ lastUsedAtMs: T0 + 5 })]
        yield* repo.touch(
          new Map([
            [a.id, T0 + 1],
            [b.id, T0 + 4],
            ["key_none", T0]
          ])
        )
        assert.deepStrictEqual(Option.getOrThrow(yield* repo.get(a.id)), { ...a, lastUsedAtMs: T0 + 1 })
        assert.deepStrictEqual(Option.getOrThrow(yield* repo.get(b.id)).lastUsedAtMs, T0 + 5)
        // Both orders of two keys, many times concurrently: neither a deadlock nor a step back.
        const uses = (n: number) => {
          const pair: Array<[string, number]> = [
            [a.id, T0 + n],
            [b.id, T0 + n]
          ]
          return new Map(n % 2 === 0 ? pair : pair.toReversed())
        }
        yield* Effect.all(
          Array.from({ length: 40 }, (_, n) => repo.touch(uses(n))),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(Option.getOrThrow(yield* repo.get(a.id)).lastUsedAtMs, T0 + 39)
        assert.deepStrictEqual(Option.getOrThrow(yield* repo.get(b.id)).lastUsedAtMs, T0 + 39)
        yield* repo.touch(new Map())
      })
    )

    describe("counts", () => {
      it.effect("by status, where an expired key is not active, and by the tier of active keys", () =>
        Effect.gen(function* () {
          const repo = yield* KeyRepo
          const before = yield* repo.counts(T0)
          yield* inserted({ tier: "pro" })
          yield* inserted({ tier: "enterprise", expiresAtMs: T0 + 1 })
          yield* inserted({ tier: "enterprise", expiresAtMs: T0 })
          yield* inserted({ tier: "pro", state: "disabled", expiresAtMs: T0 })
          yield* inserted({ tier: "pro", state: "revoked" })
          const after = yield* repo.counts(T0)
          assert.deepStrictEqual(
            {
              active: after.byStatus.active - before.byStatus.active,
              expired: after.byStatus.expired - before.byStatus.expired,
              disabled: after.byStatus.disabled - before.byStatus.disabled,
              revoked: after.byStatus.revoked - before.byStatus.revoked
            },
            { active: 2, expired: 1, disabled: 1, revoked: 1 }
          )
          assert.deepStrictEqual(
            {
              free: after.byTier.free - before.byTier.free,
              pro: after.byTier.pro - before.byTier.pro,
              enterprise: after.byTier.enterprise - before.byTier.enterprise
            },
            { free: 0, pro: 1, enterprise: 1 }
          )
        })
      )
    })
  })
